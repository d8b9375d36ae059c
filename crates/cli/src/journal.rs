//! `ekiden journal`: what happened and why. It refuses to leave out what it has no words for: that is
//! shown by its code.

use std::io;

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::args::{Form, JournalArgs};
use crate::failure::{Ended, Failure};
use crate::moments::{moment, since};
use crate::running::{self, Api, encoded};
use crate::sessions;
use crate::terminal::{Ink, Say, Terminal};

mod events;
mod words;

use events::{Event, Events};
use words::Entry;

/// Entries unless a moment is named.
const USUAL: usize = 200;

/// Entries of one answer.
const PAGE: usize = 1_000;

/// Nobody reads more at once.
const MOST: usize = 100_000;

/// Shows the journal, and goes on with it if wished.
///
/// # Errors
/// When there is no gateway, or `--since` names no moment.
pub(crate) fn run(terminal: &Terminal, args: &JournalArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    running::block_on(async {
        let asked = Asked::of(terminal, &api, args).await?;
        let mut reader = Reader { terminal, api: &api, asked, form: args.asking.form(), last: 0 };
        if args.follow {
            reader.follow().await?;
        } else {
            let shown = reader.catch_up().await?;
            if shown == 0 && reader.form == Form::Words {
                terminal.tell(&Nothing)?;
            }
        }
        Ok(Ended::Well)
    })
}

/// What is asked for.
struct Asked {
    since_ms: Option<u64>,
    most: usize,
    call: Option<String>,
    /// Its whole key.
    session: Option<String>,
    route: Option<String>,
    what: Option<String>,
}

struct Reader<'a> {
    terminal: &'a Terminal,
    api: &'a Api,
    asked: Asked,
    form: Form,
    /// The number of the newest entry that was looked at.
    last: u64,
}

#[derive(Deserialize)]
struct Page {
    entries: Vec<Value>,
    #[serde(default)]
    next: Option<u64>,
}

impl Asked {
    async fn of(terminal: &Terminal, api: &Api, args: &JournalArgs) -> Result<Self, Failure> {
        let since_ms = match &args.since {
            None => None,
            Some(text) => {
                let state = api.state(terminal).await?;
                let now_ms = state.get("now_ms").and_then(Value::as_u64).unwrap_or(0);
                let when = since(text, now_ms).ok_or_else(|| {
                    let wrong = terminal.say(&NoMoment(text));
                    Failure::usage(terminal, &wrong, &terminal.say(&WriteMoment))
                })?;
                Some(when)
            }
        };
        let session = match &args.of_session {
            Some(named) => Some(sessions::key_of(terminal, api, named).await?),
            None => None,
        };
        let usual = if since_ms.is_some() { MOST } else { USUAL };
        let named = args.limit.and_then(|most| usize::try_from(most).ok());
        Ok(Self {
            since_ms,
            most: named.unwrap_or(usual),
            call: args.of_call.clone(),
            session,
            route: args.of_route.clone(),
            what: args.what.clone(),
        })
    }

    /// As the API's query has it.
    fn query(&self) -> String {
        let filters = [
            ("call", &self.call),
            ("session", &self.session),
            ("route", &self.route),
            ("what", &self.what),
        ];
        let named = filters.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        named.map(|(name, value)| format!("&{name}={}", encoded(value))).collect()
    }

    /// As the API filters, for what comes as an event.
    fn wants(&self, entry: &Entry) -> bool {
        let fits = |wanted: &Option<String>, is: &[Option<&str>]| {
            wanted.as_deref().is_none_or(|wanted| is.contains(&Some(wanted)))
        };
        let routes = [entry.route.as_deref(), entry.from.as_deref(), entry.to.as_deref()];
        fits(&self.call, &[entry.call.as_deref()])
            && fits(&self.session, &[entry.session.as_deref()])
            && fits(&self.route, &routes)
            && fits(&self.what, &[Some(&entry.what)])
    }
}

impl Reader<'_> {
    /// Shows what there is since the last look, oldest first, and says how much that was.
    async fn catch_up(&mut self) -> Result<usize, Failure> {
        let mut list: Vec<Value> = Vec::new();
        let mut before = None;
        loop {
            let left = self.asked.most.saturating_sub(list.len());
            let before_is = before.map_or(String::new(), |before| format!("&before={before}"));
            let path = format!(
                "/api/v1/journal?limit={}&after={}{before_is}{}",
                left.clamp(1, PAGE),
                self.last,
                self.asked.query()
            );
            let page: Page =
                self.api.parsed(self.terminal, &self.api.get(self.terminal, &path).await?)?;
            let (since_ms, whole) = (self.asked.since_ms.unwrap_or(0), page.entries.len());
            let at = |entry: &Value| entry.get("at_ms").and_then(Value::as_u64).unwrap_or(0);
            let fresh = page.entries.into_iter().take_while(|entry| at(entry) >= since_ms);
            let count = list.len();
            list.extend(fresh.take(left));
            let all_fresh = list.len() == count + whole;
            match page.next {
                Some(next) if all_fresh && list.len() < self.asked.most => before = Some(next),
                Some(_) | None => break,
            }
        }
        for entry in list.iter().rev() {
            self.show(entry)?;
        }
        Ok(list.len())
    }

    /// Shows what there is, and then what comes, until the gateway ends.
    async fn follow(&mut self) -> Result<(), Failure> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let mut events = Events::default();
        let (terminal, api) = (self.terminal, self.api);
        // An id of no process: the first event says that all is to be read anew.
        let listening = api.listen(terminal, "0", |bytes| {
            for event in events.read(bytes) {
                // The other end lives as long as this.
                let _ = sender.send(event);
            }
        });
        let mut listening = std::pin::pin!(listening);
        loop {
            tokio::select! {
                biased;
                event = receiver.recv() => match event {
                    Some(Event::Reset) => {
                        self.catch_up().await?;
                    }
                    Some(Event::Journal(entry)) => self.came(&entry)?,
                    None => return Ok(()),
                },
                ended = &mut listening => {
                    ended?;
                    let gone = Gone(api.base().to_owned());
                    return Err(Failure::trouble(terminal, &gone, Some(&StartAgain)));
                }
            }
        }
    }

    fn came(&mut self, entry: &Value) -> io::Result<()> {
        let Ok(told) = Entry::deserialize(entry) else { return Ok(()) };
        if told.number > self.last && self.asked.wants(&told) {
            self.show(entry)?;
        }
        Ok(())
    }

    fn show(&mut self, entry: &Value) -> io::Result<()> {
        let told = Entry::deserialize(entry);
        if let Ok(told) = &told {
            self.last = self.last.max(told.number);
        }
        match (self.form, told) {
            (Form::Words, Ok(told)) => {
                let at = self.terminal.ink(Ink::Dim, &moment(told.at_ms));
                let said = self.terminal.ink(told.ink(), &self.terminal.say(&told));
                self.terminal.line(&format!("{at}  {said}"))
            }
            (Form::Json, _) | (Form::Words, Err(_)) => self.terminal.line(&entry.to_string()),
        }
    }
}

struct Nothing;

impl Say for Nothing {
    fn english(&self) -> String {
        "the journal holds nothing of that".to_owned()
    }

    fn chinese(&self) -> String {
        "日志中没有这样的记录".to_owned()
    }
}

struct NoMoment<'a>(&'a str);

impl Say for NoMoment<'_> {
    fn english(&self) -> String {
        format!("`{}` is no moment", self.0)
    }

    fn chinese(&self) -> String {
        format!("`{}` 不是时刻", self.0)
    }
}

struct WriteMoment;

impl Say for WriteMoment {
    fn english(&self) -> String {
        "write a span back from now (30m, 2h, 1d), or a date (2026-11-30, 2026-11-30T08:00)"
            .to_owned()
    }

    fn chinese(&self) -> String {
        "请写从现在往回的时长（30m、2h、1d），或日期（2026-11-30、2026-11-30T08:00）".to_owned()
    }
}

struct Gone(String);

impl Say for Gone {
    fn english(&self) -> String {
        format!("the gateway at {} has ended", self.0)
    }

    fn chinese(&self) -> String {
        format!("{} 上的网关已结束", self.0)
    }
}

struct StartAgain;

impl Say for StartAgain {
    fn english(&self) -> String {
        "start it with `ekiden`, then follow it again".to_owned()
    }

    fn chinese(&self) -> String {
        "用 `ekiden` 启动后再来".to_owned()
    }
}

//! The upstreams' side of every call: what was asked, what was played, every byte that was said. It
//! refuses to judge answers; of requests it notes what is wrong with them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ekiden_sim::{Act, Asked, Coding, Director, End, How};
use serde_json::Value;
use tokio::time::Instant;

use crate::clock;
use crate::plan::{CLIENT_KEY, Plan, call_of};

/// What providers are asked with; no client may see it.
pub(crate) const PROVIDER_KEY: &str = "sk-soak-provider-9876543210";
/// How long more calls than allowed may overlap while one of them is being given up.
const OVERLAP_MAX: Duration = Duration::from_millis(500);

/// An attempt that is about to be played.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cue<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) provider: &'a str,
    /// The call's attempts at this provider before this one.
    pub(crate) nth: u64,
}

type Play = dyn Fn(&Cue<'_>) -> Act + Send + Sync;

/// All upstreams.
pub(crate) struct Stage {
    play: Box<Play>,
    /// Model and how many of its calls may run at once.
    caps: Vec<(String, usize)>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    calls: HashMap<u64, Call>,
    open: HashMap<usize, (u64, usize)>,
    running: HashMap<String, Running>,
    cancels: Vec<Duration>,
    attempts: u64,
    strays: Vec<String>,
}

/// Attempts at a route that has a cap.
#[derive(Default)]
struct Running {
    count: usize,
    over_since: Option<Instant>,
}

struct Call {
    plan: Arc<Plan>,
    attempts: Vec<Attempt>,
    left: Option<Instant>,
    wrong: Vec<String>,
}

/// One attempt as its upstream saw it.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) act: Act,
    /// The body that went out, as it was coded.
    pub(crate) said: Vec<u8>,
    pub(crate) begun: Instant,
    pub(crate) end: Option<End>,
}

impl Attempt {
    pub(crate) fn route(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    pub(crate) fn coding(&self) -> Coding {
        match &self.act {
            Act::Answer(answer) => answer.coding,
            Act::Status(_)
            | Act::Reset(_)
            | Act::Hang
            | Act::HeadersThenSilence
            | Act::Html
            | Act::ZeroBytes => Coding::Identity,
        }
    }

    /// Whether it was played to its end.
    pub(crate) fn is_played(&self) -> bool {
        self.end.is_some_and(|end| end.how == How::Whole)
    }
}

/// What is known of a call when it is over.
pub(crate) struct Played {
    pub(crate) attempts: Vec<Attempt>,
    /// What was wrong with its requests.
    pub(crate) wrong: Vec<String>,
}

impl fmt::Debug for Stage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl Stage {
    /// `caps` are providers with their models, `chat-2/n`, and how many calls may run there at once.
    pub(crate) fn new(
        caps: &[(&str, usize)],
        play: impl Fn(&Cue<'_>) -> Act + Send + Sync + 'static,
    ) -> Arc<Self> {
        let caps = caps.iter().map(|(route, cap)| ((*route).to_owned(), *cap)).collect();
        Arc::new(Self { play: Box::new(play), caps, inner: Mutex::default() })
    }

    /// A call is about to be made.
    pub(crate) fn opens(&self, plan: &Arc<Plan>) {
        let call =
            Call { plan: Arc::clone(plan), attempts: Vec::new(), left: None, wrong: Vec::new() };
        self.lock().calls.insert(plan.number, call);
    }

    /// Its client leaves now.
    pub(crate) fn left(&self, number: u64) {
        if let Some(call) = self.lock().calls.get_mut(&number) {
            call.left = Some(clock::now());
        }
    }

    /// Whether any upstream was asked for it.
    pub(crate) fn is_asked(&self, number: u64) -> bool {
        self.lock().calls.get(&number).is_some_and(|call| !call.attempts.is_empty())
    }

    /// Whether none of its attempts goes on.
    pub(crate) fn is_settled(&self, number: u64) -> bool {
        let inner = self.lock();
        let call = inner.calls.get(&number);
        call.is_none_or(|call| call.attempts.iter().all(|attempt| attempt.end.is_some()))
    }

    /// Forgets a call and gives all that is known of it.
    pub(crate) fn take(&self, number: u64) -> Played {
        match self.lock().calls.remove(&number) {
            Some(call) => Played { attempts: call.attempts, wrong: call.wrong },
            None => Played { attempts: Vec::new(), wrong: vec!["unknown call".to_owned()] },
        }
    }

    /// From the client's leaving until its attempt's upstream was left, too.
    pub(crate) fn cancels(&self) -> Vec<Duration> {
        self.lock().cancels.clone()
    }

    pub(crate) fn attempts(&self) -> u64 {
        self.lock().attempts
    }

    /// Attempts that go on.
    pub(crate) fn open(&self) -> usize {
        self.lock().open.len()
    }

    /// Requests that belong to no call, and caps that were not kept.
    pub(crate) fn strays(&self) -> Vec<String> {
        self.lock().strays.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is wrong with a request, and the model that it asks for.
    fn read(plan: &Plan, asked: &Asked<'_>) -> (String, Vec<String>) {
        let body: Value = serde_json::from_slice(asked.body).unwrap_or_default();
        let mut wrong = Vec::new();
        if body["messages"] != plan.messages {
            wrong.push("the messages are not the client's".to_owned());
        }
        if body["stream"] != plan.streamed {
            wrong.push("stream is not what the client asked for".to_owned());
        }
        let named = |key: &str| -> Vec<&String> {
            let all = asked.headers.iter().filter(|(_, value)| value.contains(key));
            all.map(|(name, _)| name).collect()
        };
        if named(PROVIDER_KEY).len() != 1 {
            wrong.push("the provider's key is not there once".to_owned());
        }
        if let Some(name) = named(CLIENT_KEY).first() {
            wrong.push(format!("the client's key was passed on as {name}"));
        }
        if let Some((_, session)) = &plan.session
            && let Some((name, _)) = asked.headers.iter().find(|(_, value)| value == session)
        {
            wrong.push(format!("the session was passed on as {name}"));
        }
        (body["model"].as_str().unwrap_or_default().to_owned(), wrong)
    }
}

impl Director for Stage {
    fn act(&self, asked: &Asked<'_>) -> Act {
        let begun = clock::now();
        let provider = asked.path.split('/').nth(1).unwrap_or_default().to_owned();
        let known = call_of(asked.body)
            .and_then(|number| Some((number, Arc::clone(&self.lock().calls.get(&number)?.plan))));
        let Some((number, plan)) = known else {
            let stray = format!("{provider} was asked for a call that nobody makes any more");
            self.lock().strays.push(stray);
            return Act::Hang;
        };
        let (model, wrong) = Self::read(&plan, asked);
        let mut inner = self.lock();
        inner.attempts += 1;
        let Some(call) = inner.calls.get_mut(&number) else { return Act::Hang };
        let nth = call.attempts.iter().filter(|attempt| attempt.provider == provider).count();
        let act = (self.play)(&Cue { plan: &plan, provider: &provider, nth: nth as u64 });
        let route = format!("{provider}/{model}");
        call.wrong.extend(wrong);
        call.attempts.push(Attempt {
            provider,
            model,
            act: act.clone(),
            said: Vec::new(),
            begun,
            end: None,
        });
        let index = call.attempts.len() - 1;
        inner.open.insert(asked.number, (number, index));
        if let Some((_, cap)) = self.caps.iter().find(|(own, _)| *own == route) {
            let running = inner.running.entry(route).or_default();
            running.count += 1;
            if running.count > *cap {
                running.over_since.get_or_insert(begun);
            }
        }
        act
    }

    fn says(&self, number: usize, part: &[u8]) {
        let mut inner = self.lock();
        let Some((call, index)) = inner.open.get(&number).copied() else { return };
        let call = inner.calls.get_mut(&call);
        if let Some(attempt) = call.and_then(|call| call.attempts.get_mut(index)) {
            attempt.said.extend_from_slice(part);
        }
    }

    fn ended(&self, number: usize, end: End) {
        let mut inner = self.lock();
        let Some((call, index)) = inner.open.remove(&number) else { return };
        let Some(call) = inner.calls.get_mut(&call) else { return };
        let left = call.left;
        let Some(attempt) = call.attempts.get_mut(index) else { return };
        attempt.end = Some(end);
        let route = attempt.route();
        if let Some(left) = left.filter(|_| end.how == How::ClientGone) {
            inner.cancels.push(end.at.saturating_duration_since(left));
        }
        let cap = self.caps.iter().find(|(own, _)| *own == route).map(|(_, cap)| *cap);
        let over = cap.and_then(|cap| {
            let running = inner.running.get_mut(&route)?;
            running.count = running.count.saturating_sub(1);
            if running.count <= cap { running.over_since.take() } else { None }
        });
        if let Some(since) = over.filter(|since| end.at - *since > OVERLAP_MAX) {
            let span = end.at - since;
            inner.strays.push(format!("{route} ran more than its cap for {span:?}"));
        }
    }
}

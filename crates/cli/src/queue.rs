//! `ekiden queue`: queues are made, changed, carried elsewhere (R1, R2, R40, R41). It refuses to write
//! the settings itself: the running gateway does, on what was seen.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::Path;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::{Asking, Form, MoveArgs, NewQueueArgs, PlaceArgs, QueueTask};
use crate::failure::{Ended, Failure};
use crate::running::{self, Api, WRITE_LIMIT, encoded};
use crate::table::{Cell, Table};
use crate::terminal::{Ink, Say, Terminal};

mod words;

use words::{Asks, Done, Hint, Wrong};

/// The queues and the hash of the settings, as of one moment.
#[derive(Debug, Deserialize)]
struct Seen {
    settings: Settings,
    queues: Vec<Queue>,
}

#[derive(Debug, Deserialize)]
struct Settings {
    hash: String,
}

#[derive(Debug, Deserialize)]
struct Queue {
    id: String,
    name: String,
    candidates: Vec<Candidate>,
}

#[derive(Debug, Deserialize)]
struct Candidate {
    route: String,
}

impl Seen {
    async fn by(terminal: &Terminal, api: &Api) -> Result<Self, Failure> {
        let text = api.get(terminal, "/api/v1/state").await?;
        api.parsed(terminal, &text)
    }

    fn queue(&self, terminal: &Terminal, id: &str) -> Result<&Queue, Failure> {
        let found = self.queues.iter().find(|queue| queue.id == id);
        found.ok_or_else(|| {
            let wrong = Wrong::NoQueue { id: id.to_owned() };
            Failure::trouble(terminal, &wrong, Some(&Hint::ListQueues))
        })
    }
}

impl Queue {
    fn routes(&self) -> Vec<&str> {
        self.candidates.iter().map(|candidate| candidate.route.as_str()).collect()
    }
}

/// Does what is to be done about queues.
///
/// # Errors
/// When there is no gateway, or it refuses.
pub(crate) fn run(terminal: &Terminal, task: &QueueTask) -> Result<Ended, Failure> {
    match task {
        QueueTask::List(asking) => list(terminal, asking),
        QueueTask::New(args) => make(terminal, args),
        QueueTask::Rename(args) => {
            let path = format!("/api/v1/queues/{}", encoded(&args.queue));
            let body = json!({ "name": args.queue_name });
            let done = Done::Renamed { id: &args.queue, name: &args.queue_name };
            write(terminal, &args.asking, Method::PATCH, &path, &body, &done)
        }
        QueueTask::Delete(args) => delete(terminal, &args.asking, &args.queue, args.yes),
        QueueTask::Add(args) => {
            let PlaceArgs { queue, route, asking } = &args.place;
            let at = args.at.map(|place| place - 1);
            let change =
                json!([{ "do": "add_candidate", "queue": queue, "route": route, "at": at }]);
            change_candidates(terminal, asking, queue, &change, &Done::Added { queue, route })
        }
        QueueTask::Remove(PlaceArgs { queue, route, asking }) => {
            let change = json!([{ "do": "remove_candidate", "queue": queue, "route": route }]);
            change_candidates(terminal, asking, queue, &change, &Done::Removed { queue, route })
        }
        QueueTask::Move(args) => reorder(terminal, args),
        QueueTask::Order(args) => {
            let body = json!({ "order": args.ids });
            let done = Done::Ordered { ids: args.ids.join(", ") };
            write(terminal, &args.asking, Method::PUT, "/api/v1/queues", &body, &done)
        }
        QueueTask::Export(args) => export(terminal, args.url.as_deref(), args.to.as_deref()),
        QueueTask::Import(args) => import(terminal, &args.asking, &args.from),
    }
}

fn list(terminal: &Terminal, asking: &Asking) -> Result<Ended, Failure> {
    let api = Api::at(asking.url.as_deref());
    let state = running::block_on(api.state(terminal))?;
    if asking.form() == Form::Json {
        let queues = state.get("queues").cloned().unwrap_or_default();
        terminal.line(&json!({ "queues": queues }).to_string())?;
        return Ok(Ended::Well);
    }
    let seen: Seen = api.parsed(terminal, &state.to_string())?;
    let mut table = Table::default();
    for queue in &seen.queues {
        let name = if queue.name == queue.id { "" } else { &queue.name };
        table.row([
            Cell::new(&queue.id).ink(Ink::Strong),
            Cell::new(name),
            Cell::new(queue.routes().join(" › ")),
        ]);
    }
    terminal.raw(&table.lines(terminal, ""))?;
    Ok(Ended::Well)
}

fn make(terminal: &Terminal, args: &NewQueueArgs) -> Result<Ended, Failure> {
    #[derive(Deserialize)]
    struct Made {
        id: String,
    }
    let api = Api::at(args.asking.url.as_deref());
    let mut body = json!({ "name": args.queue_name, "routes": args.routes });
    if let (Some(id), Some(members)) = (&args.id, body.as_object_mut()) {
        members.insert("id".to_owned(), Value::from(id.as_str()));
    }
    let sending = api.send(terminal, Method::POST, "/api/v1/queues", Some(&body), WRITE_LIMIT);
    let text = running::block_on(sending)?;
    let made: Made = api.parsed(terminal, &text)?;
    told(terminal, args.asking.form(), &text, &Done::Made { id: made.id })
}

/// Deletes a queue once somebody has said yes to how many candidates go with it (R41).
fn delete(terminal: &Terminal, asking: &Asking, id: &str, yes: bool) -> Result<Ended, Failure> {
    let api = Api::at(asking.url.as_deref());
    let seen = running::block_on(Seen::by(terminal, &api))?;
    let count = seen.queue(terminal, id)?.candidates.len();
    if !yes {
        if !io::stdin().is_terminal() {
            let wrong = terminal.say(&Wrong::NotConfirmed { id: id.to_owned(), count });
            return Err(Failure::usage(terminal, &wrong, &terminal.say(&Hint::SayYes)));
        }
        terminal.ask(&Asks::Delete { id: id.to_owned(), count })?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "是") {
            terminal.tell(&Done::Kept)?;
            return Ok(Ended::Badly);
        }
    }
    let path = format!("/api/v1/queues/{}?candidates={count}", encoded(id));
    let sending = api.send(terminal, Method::DELETE, &path, None, WRITE_LIMIT);
    let text = running::block_on(sending)?;
    told(terminal, asking.form(), &text, &Done::Deleted { id, count })
}

/// Gives a candidate another place.
fn reorder(terminal: &Terminal, args: &MoveArgs) -> Result<Ended, Failure> {
    let MoveArgs { candidate: PlaceArgs { queue, route, asking }, place } = args;
    let api = Api::at(asking.url.as_deref());
    let (text, place) = running::block_on(async {
        let seen = Seen::by(terminal, &api).await?;
        let mut routes = seen.queue(terminal, queue)?.routes();
        let Some(at) = routes.iter().position(|it| it == route) else {
            let wrong = Wrong::NoCandidate { queue: queue.clone(), route: route.clone() };
            return Err(Failure::trouble(terminal, &wrong, Some(&Hint::ListQueues)));
        };
        let moved = routes.remove(at);
        let to = usize::try_from(*place).unwrap_or(usize::MAX).saturating_sub(1);
        let to = to.min(routes.len());
        routes.insert(to, moved);
        let change = json!([{ "do": "order_candidates", "queue": queue, "routes": routes }]);
        Ok((api.change(terminal, &seen.settings.hash, &change).await?, to + 1))
    })?;
    told(terminal, asking.form(), &text, &Done::Moved { queue, route, place })
}

fn change_candidates(
    terminal: &Terminal,
    asking: &Asking,
    queue: &str,
    change: &Value,
    done: &Done<'_>,
) -> Result<Ended, Failure> {
    let api = Api::at(asking.url.as_deref());
    let text = running::block_on(async {
        let seen = Seen::by(terminal, &api).await?;
        seen.queue(terminal, queue)?;
        api.change(terminal, &seen.settings.hash, change).await
    })?;
    told(terminal, asking.form(), &text, done)
}

fn write(
    terminal: &Terminal,
    asking: &Asking,
    method: Method,
    path: &str,
    body: &Value,
    done: &Done<'_>,
) -> Result<Ended, Failure> {
    let api = Api::at(asking.url.as_deref());
    let text = running::block_on(api.send(terminal, method, path, Some(body), WRITE_LIMIT))?;
    told(terminal, asking.form(), &text, done)
}

fn told(terminal: &Terminal, form: Form, answer: &str, done: &impl Say) -> Result<Ended, Failure> {
    match form {
        Form::Json => terminal.line(answer.trim_end())?,
        Form::Words => terminal.line(&terminal.ink(Ink::Good, &terminal.say(done)))?,
    }
    Ok(Ended::Well)
}

fn export(terminal: &Terminal, url: Option<&str>, to: Option<&Path>) -> Result<Ended, Failure> {
    let api = Api::at(url);
    let text = running::block_on(api.get(terminal, "/api/v1/export"))?;
    let whole: Value = api.parsed(terminal, &text)?;
    let pretty = format!("{whole:#}\n");
    match to {
        None => terminal.raw(&pretty)?,
        Some(path) => {
            fs::write(path, pretty).map_err(|error| file_trouble(terminal, path, &error))?;
            terminal.tell(&Done::Exported { path: path.display().to_string() })?;
        }
    }
    Ok(Ended::Well)
}

fn import(terminal: &Terminal, asking: &Asking, from: &Path) -> Result<Ended, Failure> {
    #[derive(Deserialize)]
    struct Imported {
        imported: Vec<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let mut text = String::new();
    let read = if from == Path::new("-") {
        io::stdin().lock().read_to_string(&mut text)
    } else {
        fs::File::open(from).and_then(|mut file| file.read_to_string(&mut text))
    };
    read.map_err(|error| file_trouble(terminal, from, &error))?;
    let body: Value = serde_json::from_str(&text).map_err(|error| {
        let wrong = Wrong::NoJson { path: from.display().to_string(), why: error.to_string() };
        Failure::usage(terminal, &terminal.say(&wrong), &terminal.say(&Hint::ExportGives))
    })?;
    let api = Api::at(asking.url.as_deref());
    let sending = api.send(terminal, Method::POST, "/api/v1/import", Some(&body), WRITE_LIMIT);
    let answer = running::block_on(sending)?;
    let Imported { imported } = api.parsed(terminal, &answer)?;
    let ids: Vec<String> = imported.into_iter().map(|queue| queue.id).collect();
    told(terminal, asking.form(), &answer, &Done::Imported { ids: ids.join(", ") })
}

fn file_trouble(terminal: &Terminal, path: &Path, error: &io::Error) -> Failure {
    let wrong = Wrong::File { path: path.display().to_string(), why: error.to_string() };
    Failure::trouble(terminal, &wrong, None::<&Hint>)
}

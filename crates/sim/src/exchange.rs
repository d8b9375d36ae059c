//! One request and its answer on one connection. It reads, plays the plan that the script gives, and
//! watches whether the client is still there; it never chooses.

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::act::{Act, After, Status, Trouble};
use crate::dialect::Turn;
use crate::director::{Asked, Director};
use crate::log::{Entry, How, Log, Seen, now};
use crate::pen::{Extent, Gone, Pen};
use crate::plan::{Last, Plan, Step, plan};
use crate::request::{Ask, Endpoint, Head, Inbox, ReadError};

/// Where acts come from.
pub(crate) trait Prompter {
    /// The act for a request of which only the head is known, if the script wants it so early.
    fn act_at_head(&self, endpoint: Endpoint) -> Option<Act>;
    /// The act for a request that was read.
    fn act(&self, ask: &Ask, asked: &Asked<'_>) -> Act;
    /// Who hears what goes out.
    fn director(&self) -> Option<&dyn Director>;
    /// The models to list.
    fn models(&self) -> Vec<String>;
    fn log(&self) -> &watch::Sender<Log>;
    /// How many requests the log holds.
    fn requests_max(&self) -> usize;
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Again,
    Close,
    Reset,
}

/// Answers one request.
pub(crate) async fn exchange<R, W>(
    prompter: &impl Prompter,
    connection: usize,
    inbox: &mut Inbox<R>,
    pen: &mut Pen<W>,
) -> Next
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let head = match inbox.head().await {
        Ok(head) => head,
        Err(ReadError::Gone) => return Next::Close,
        Err(ReadError::Unreadable) => return Next::Reset,
    };
    let endpoint = Endpoint::of(&head.path);
    let line = seen(&head, endpoint, connection);
    let entry =
        Entry::open(prompter.log(), line, prompter.requests_max()).heard_by(prompter.director());
    if let Some(act) = prompter.act_at_head(endpoint) {
        entry.amend(|seen| seen.act = Some(act));
        entry.close(How::Broken);
        return Next::Reset;
    }
    let (ask, body) = match read(&head, endpoint, inbox, pen, &entry).await {
        Ok(read) => read,
        Err(ReadError::Gone) => {
            entry.close(How::ClientGone);
            return Next::Close;
        }
        Err(ReadError::Unreadable) => {
            entry.close(How::Unreadable);
            return Next::Reset;
        }
    };
    let (turn, act) = stage(prompter, &head, ask, &body, &entry);
    let mut plan = plan(&act, &turn, &prompter.models());
    if head.method == "HEAD" {
        without_body(&mut plan);
    }
    let played = tokio::select! {
        biased;
        played = perform(pen, &plan, &entry) => played,
        () = inbox.until_gone() => Err(Gone),
    };
    match played {
        Err(Gone) => {
            entry.close(How::ClientGone);
            Next::Close
        }
        Ok(last) => leave(last, &head, prompter, inbox, entry).await,
    }
}

fn seen(head: &Head, endpoint: Endpoint, connection: usize) -> Seen {
    Seen {
        number: 0,
        connection,
        at: now(),
        endpoint,
        method: head.method.clone(),
        path: head.path.clone(),
        headers: head.headers.clone(),
        body: Bytes::new(),
        model: None,
        streaming: false,
        act: None,
        written: 0,
        events: 0,
        end: None,
    }
}

/// None if the body is no JSON where it should be.
async fn read<R, W>(
    head: &Head,
    endpoint: Endpoint,
    inbox: &mut Inbox<R>,
    pen: &mut Pen<W>,
    entry: &Entry<'_>,
) -> Result<(Option<Ask>, Bytes), ReadError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    if head.expects_continue {
        let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
        pen.raw(entry, go_on).await.map_err(|Gone| ReadError::Gone)?;
    }
    let body = inbox.body(head.framing).await?;
    let ask = Ask::read(endpoint, &body);
    entry.amend(|seen| {
        seen.body = body.clone();
        if let Some(ask) = &ask {
            seen.model.clone_from(&ask.model);
            seen.streaming = ask.streaming;
        }
    });
    Ok((ask, body))
}

/// A body that could not be read gets a 400, and takes no step of the script.
fn stage(
    prompter: &impl Prompter,
    head: &Head,
    ask: Option<Ask>,
    body: &Bytes,
    entry: &Entry<'_>,
) -> (Turn, Act) {
    let endpoint = Endpoint::of(&head.path);
    match ask {
        Some(ask) => {
            let number = entry.number();
            let asked = Asked { number, path: &head.path, headers: &head.headers, body };
            let act = prompter.act(&ask, &asked);
            entry.amend(|seen| seen.act = Some(act.clone()));
            (Turn { ask, number: entry.number() }, act)
        }
        None => {
            let turn = Turn { ask: Ask::unreadable(endpoint), number: entry.number() };
            (turn, Act::from(Status::of(Trouble::Invalid)))
        }
    }
}

async fn perform<W: AsyncWrite + Unpin>(
    pen: &mut Pen<W>,
    plan: &Plan,
    entry: &Entry<'_>,
) -> Result<Last, Gone> {
    pen.bite = plan.bite;
    for step in &plan.steps {
        match step {
            Step::Head { code, headers, extent } => {
                pen.head(entry, *code, headers, *extent).await?;
            }
            Step::Body(bytes) => pen.body(entry, bytes).await?,
            Step::Event(bytes) => event(pen, entry, bytes).await?,
            Step::Raw(bytes) => pen.raw(entry, bytes).await?,
            Step::Repeat(bytes, gap) => loop {
                if gap.is_zero() {
                    // Without this a client that always reads would keep the thread from others.
                    tokio::task::yield_now().await;
                } else {
                    tokio::time::sleep(*gap).await;
                }
                event(pen, entry, bytes).await?;
            },
            Step::Wait(wait) => tokio::time::sleep(*wait).await,
            Step::Forever => std::future::pending().await,
        }
    }
    match plan.last {
        Last::Whole(_) => pen.finish(entry).await?,
        Last::Close | Last::Reset => {}
    }
    Ok(plan.last)
}

async fn event<W: AsyncWrite + Unpin>(
    pen: &mut Pen<W>,
    entry: &Entry<'_>,
    bytes: &[u8],
) -> Result<(), Gone> {
    pen.body(entry, bytes).await?;
    entry.amend(|seen| seen.events += 1);
    Ok(())
}

async fn leave<R: AsyncRead + Unpin>(
    last: Last,
    head: &Head,
    prompter: &impl Prompter,
    inbox: &mut Inbox<R>,
    entry: Entry<'_>,
) -> Next {
    let after = match last {
        Last::Whole(after) => {
            entry.close(How::Whole);
            after
        }
        Last::Close => {
            entry.close(How::Broken);
            return Next::Close;
        }
        Last::Reset => {
            entry.close(How::Broken);
            return Next::Reset;
        }
    };
    match after {
        After::KeepAlive if head.closes => Next::Close,
        After::KeepAlive => Next::Again,
        After::Close => Next::Close,
        After::DieOnReuse => match inbox.any_byte().await {
            Ok(()) => {
                prompter.log().send_modify(|log| log.died_on_reuse += 1);
                Next::Reset
            }
            Err(ReadError::Gone | ReadError::Unreadable) => Next::Close,
        },
    }
}

fn without_body(plan: &mut Plan) {
    plan.steps.retain(|step| match step {
        Step::Head { .. } | Step::Wait(_) | Step::Forever => true,
        Step::Body(_) | Step::Event(_) | Step::Raw(_) | Step::Repeat(..) => false,
    });
    for step in &mut plan.steps {
        if let Step::Head { extent: extent @ Extent::Chunked, .. } = step {
            *extent = Extent::NoBody;
        }
    }
}

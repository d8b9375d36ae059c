//! Sockets: accepting, one HTTP/1.1 connection a task, and an end in order (G13).
//!
//! It refuses to look into requests.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::front::Front;
use crate::front::gate::Gated;
use crate::front::io::{Answering, Bounded};
use crate::front::limits::{Bound, Share};
use crate::tasks::Tasks;

/// The least that the HTTP library takes as the bound on a head, in bytes.
const HEAD_MIN_BYTES: usize = 8 << 10;

/// A head that takes longer is not waited for; neither is the next one on a kept connection.
const HEAD_WAIT: Duration = Duration::from_secs(60);

/// When no socket can be had, one may be free a moment later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Connections beyond the open calls: idle ones that clients keep.
const IDLE_CONNECTIONS: u64 = 1_024;

/// What a connection too many is told before it is closed.
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n\
    retry-after: 1\r\nconnection: close\r\ncontent-length: 26\r\n\r\nToo many open connections\n";

/// How far the end is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Stage {
    /// Calls are taken.
    Serving,
    /// Open calls go on, no others are taken.
    Draining,
    /// What is left ends with its dialect's error.
    Ending,
    /// What is left then is cut.
    Cutting,
}

/// All connections.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    tasks: Tasks,
    bound: Arc<Bound>,
    stage: watch::Receiver<Stage>,
}

impl Connections {
    pub(crate) fn new(calls_max: u32, stage: watch::Receiver<Stage>) -> Self {
        let most = u64::from(calls_max).saturating_add(IDLE_CONNECTIONS);
        Self { tasks: Tasks::default(), bound: Bound::new(most), stage }
    }

    /// Accepts until the end begins; then the port is free.
    pub(crate) async fn accept(mut self, listener: TcpListener, front: Arc<Front>) {
        let mut stage = self.stage.clone();
        loop {
            let accepted = tokio::select! {
                biased;
                () = reached(&mut stage, Stage::Draining) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => self.take(stream, &front),
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Waits until none is open.
    pub(crate) async fn idle(&self) {
        self.tasks.idle().await;
    }

    fn take(&mut self, stream: TcpStream, front: &Arc<Front>) {
        let Some(share) = Share::of(&self.bound, 1) else {
            // Into an empty send buffer; nobody is waited for.
            let _ = stream.try_write(TOO_MANY);
            return;
        };
        // Without it each event of a stream would wait for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let serving = serve(stream, Arc::clone(front), self.stage.clone(), Some(share));
        drop(self.tasks.spawn(Gated::new(serving)));
    }
}

/// Serves one connection to its end, and gives its place back then.
pub(crate) async fn serve<S>(
    stream: S,
    front: Arc<Front>,
    mut stage: watch::Receiver<Stage>,
    _share: Option<Share>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let head_max = usize::try_from(front.head_max_bytes()).unwrap_or(usize::MAX);
    let io = Bounded::new(stream);
    let line = io.line().share();
    let answering = Answering::default();
    let watched = answering.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (front, answering) = (Arc::clone(&front), watched.clone());
        // The library keeps room for what this gives as long as the connection lives: a pointer, and
        // not the whole of a request's handling, which is over when its stream begins.
        Box::pin(async move {
            let answer = front.handle(request.map(|body| answering.asked(body))).await;
            Ok::<_, Infallible>(with_reason(answer.map(|body| answering.answered(body))))
        })
    });
    // More than 100 headers are answered with 431, as the library has it: a bound that is set costs
    // each request an allocation.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .max_buf_size(head_max.max(HEAD_MIN_BYTES))
        .serve_connection(TokioIo::new(io), service);
    let mut connection = pin!(connection);
    // What a connection ends with concerns its peer alone; calls tell their own end. Dropping it is
    // how they learn that their client has left.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = line.left(&answering) => return,
        () = reached(&mut stage, Stage::Draining) => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        biased;
        _ = connection.as_mut() => {}
        () = line.left(&answering) => {}
        () = reached(&mut stage, Stage::Cutting) => {}
    }
}

/// Gives a status that the standards do not name a reason of its own; some clients show it.
fn with_reason<B>(mut answer: Response<B>) -> Response<B> {
    let status = answer.status();
    if status.canonical_reason().is_none() {
        let reason = match status.as_u16() {
            529 => ReasonPhrase::from_static(b"Overloaded"),
            500.. => ReasonPhrase::from_static(b"Server Error"),
            _ => ReasonPhrase::from_static(b"Other"),
        };
        answer.extensions_mut().insert(reason);
    }
    answer
}

/// Waits for a stage; whoever set stages and is gone has cut everything.
pub(crate) async fn reached(stage: &mut watch::Receiver<Stage>, wanted: Stage) {
    drop(stage.wait_for(|now| *now >= wanted).await);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake, Waker};

    use ekiden_config::FixedEnv;
    use ekiden_sim::Upstream;
    use ekiden_store::{Ending, What};
    use http::StatusCode;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::core::{Core, CoreOptions};

    type Served = (Arc<Front>, watch::Sender<Stage>, watch::Receiver<Stage>);

    fn front_to(upstream: &Upstream) -> Served {
        let (asked, tasks) = (upstream.clone(), Tasks::default());
        front_by(move || {
            let (near, serving) = asked.pipe(64 << 10);
            drop(tasks.spawn(serving));
            near
        })
    }

    fn front_by(connect: impl Fn() -> tokio::io::DuplexStream + Send + Sync + 'static) -> Served {
        let text = "[providers.a]\nbase_url = \"http://a.example/v1\"\ndialect = \"openai-chat\"\n\
            api_key = \"key-000000\"\n[queues.default]\ncandidates = [\"a/m\"]\n";
        let config = ekiden_config::Config::parse(text, "test.toml", &FixedEnv::new());
        let dial = move |_: &str, _: u16| Some(Ok(connect()));
        let options = CoreOptions { dial: Some(Arc::new(dial)), ..CoreOptions::default() };
        let core = Core::new(config.unwrap().config, options);
        let (stages, stage) = watch::channel(Stage::Serving);
        let front = Arc::new(Front::new(core, "127.0.0.1:8787".parse().unwrap(), stage.clone()));
        (front, stages, stage)
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_stream_holds_little_room_for_its_request() {
        let (front, _stages, _stage) = front_to(&Upstream::new("ok:one".parse().unwrap()));
        let body = http_body_util::Full::new(bytes::Bytes::new());
        let answering = front.handle(Request::new(body));
        let room = std::mem::size_of_val(&answering);
        assert!(room < 4_000, "{room} bytes");
    }

    #[tokio::test]
    async fn a_connection_s_task_holds_its_future_once() {
        let (front, _stages, stage) = front_to(&Upstream::new("ok:one".parse().unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let serving = serve(stream, front, stage, None);
        let alone = std::mem::size_of_val(&serving);
        let counted = std::mem::size_of_val(&Tasks::default().counted(serving));
        assert!(alone < 1_200 && counted < alone + 32, "{alone} bytes, counted {counted}");
    }

    #[tokio::test(start_paused = true)]
    async fn r11_a_client_that_reads_nothing_for_300_s_counts_as_gone() {
        let upstream = Upstream::new("endless | ok:abcdefgh | drip:1".parse().unwrap());
        let (front, _stages, stage) = front_to(&upstream);
        let (near, mut client) = tokio::io::duplex(64 << 10);
        drop(Tasks::default().spawn(serve(near, front, stage, None)));
        let body =
            r#"{"model":"default","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
        client.write_all(asked(body).as_bytes()).await.unwrap();
        let mut first = [0; 12];
        client.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        sleep(Duration::from_secs(290)).await;
        let seen = || upstream.log().calls().next().unwrap().clone();
        assert!(seen().end.is_none() && seen().written < 1 << 20, "{}", seen().written);
        sleep(Duration::from_secs(30)).await;
        assert!(seen().client_left_at().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn p5_a_call_is_stopped_though_its_client_reads_nothing() {
        let upstream = Upstream::new("endless | ok:abcdefgh".parse().unwrap());
        let (front, _stages, stage) = front_to(&upstream);
        let (near, mut client) = tokio::io::duplex(64 << 10);
        drop(Tasks::default().spawn(serve(near, Arc::clone(&front), stage, None)));
        let body =
            r#"{"model":"default","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
        client.write_all(asked(body).as_bytes()).await.unwrap();
        let mut first = [0; 12];
        client.read_exact(&mut first).await.unwrap();
        sleep(Duration::from_secs(2)).await;
        let core = &front.core;
        let call = Arc::clone(&core.calls().open_now()[0].call);
        assert!(core.stop(&call) && core.stop(&call), "it is open, and still is");
        sleep(Duration::from_millis(100)).await;
        assert!(upstream.log().calls().next().unwrap().client_left_at().is_some());
        assert!(core.calls().open_now().is_empty());
        let stopped = |entry: &ekiden_store::Entry| matches!(entry.what, What::Stopped { .. });
        assert_eq!(core.store().journal(9).iter().filter(|entry| stopped(entry)).count(), 1);
        let ends: Vec<_> = core.store().calls(9).iter().map(|row| row.ending).collect();
        assert_eq!(ends, [Ending::Stopped]);
    }

    #[tokio::test(start_paused = true)]
    async fn r11_a_head_that_comes_at_once_ends_the_clock_of_the_connection() {
        let (front, _stages, _stage) = front_by(|| {
            let (near, mut far) = tokio::io::duplex(64 << 10);
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
            let body = br#"{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}"#;
            let head = [&head[..], format!("{}\r\n\r\n", body.len()).as_bytes()].concat();
            let mut writing = Box::pin(async move {
                far.write_all(&head).await.unwrap();
                sleep(Duration::from_secs(60)).await;
                far.write_all(body).await.unwrap();
                sleep(Duration::from_secs(1)).await;
            });
            // The head is there before the request goes out.
            assert!(writing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            drop(Tasks::default().spawn(writing));
            near
        });
        let body = r#"{"model":"default","messages":[{"role":"user","content":"hi"}]}"#;
        let body = http_body_util::Full::new(bytes::Bytes::from_static(body.as_bytes()));
        let mut request = Request::post("/v1/chat/completions").body(body).unwrap();
        let host = http::HeaderValue::from_static("127.0.0.1:8787");
        request.headers_mut().insert(http::header::HOST, host);
        let answer = front.handle(request).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["x-ekiden-attempts"], "1");
    }

    fn asked(body: &str) -> String {
        let length = body.len();
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:8787\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    }

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn a_call_goes_out_without_a_wake_through_the_runtime() {
        let upstream = Upstream::new("ok:one".parse().unwrap());
        let (front, _stages, stage) = front_to(&upstream);
        let (near, mut client) = tokio::io::duplex(64 << 10);
        let body = r#"{"model":"default","messages":[{"role":"user","content":"hi"}]}"#;
        client.write_all(asked(body).as_bytes()).await.unwrap();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut serving = pin!(Gated::new(serve(near, front, stage, None)));
        assert!(serving.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
        // It is not polled any more: what the provider hears went out in that one poll.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(upstream.log().calls().count(), 1);
    }

    #[test]
    fn r45_a_status_without_a_standard_reason_gets_one() {
        let reason = |status: u16| {
            let mut answer = Response::new(());
            *answer.status_mut() = StatusCode::from_u16(status).unwrap();
            with_reason(answer).extensions().get::<ReasonPhrase>().map(|it| it.as_bytes().to_vec())
        };
        assert_eq!(reason(529).unwrap(), b"Overloaded");
        assert_eq!(reason(520).unwrap(), b"Server Error");
        assert_eq!(reason(499).unwrap(), b"Other");
        assert_eq!(reason(429), None, "the standard one");
    }
}

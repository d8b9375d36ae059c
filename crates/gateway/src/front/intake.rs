//! Bodies: read under their bounds, decoded, and read as a request.
//!
//! It refuses to hold what nobody allowed: a body that is announced too large, or for which there is
//! no room, is not read at all; room is taken by what has come, not by what is announced (G14).

mod words;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::BodyExt;

use ekiden_config::{Language, say, show_size_bytes};
use ekiden_dialect::Dialect;
use ekiden_dialect::request::{self, BodyError, Request};
use ekiden_dialect::write::{Fault, error};

use crate::body::Body;
use crate::front::coding::{self, Coding, CodingError};
use crate::front::limits::{Bound, HeldBytes};
use crate::front::reply::{Asker, response, retry_after};
use crate::tasks::Tasks;

/// Larger bodies, and coded ones, are read off the runtime.
const INLINE_MAX_BYTES: usize = 256 << 10;

/// No client needs longer between two pieces of a body.
const PIECE_WAIT: Duration = Duration::from_secs(30);

/// Nor for all of it.
const BODY_WAIT: Duration = Duration::from_secs(600);

/// The most that is set aside before a byte has come.
const RESERVE_MAX_BYTES: u64 = 1 << 20;

/// Bodies up to this size are copied out of what they were read into.
const COPIED_MAX_BYTES: usize = 8 << 10;

/// Room is taken in steps of so many bytes while a body comes: one that is only announced takes
/// nobody else's.
const STEP_BYTES: u64 = 64 << 10;

/// Why a body is not taken.
#[derive(Debug)]
pub(crate) enum IntakeError {
    /// Over the bound on one body, in bytes.
    TooLarge(u64),
    /// Over the bound on all bodies together, in bytes.
    NoRoom(u64),
    /// It came too slowly.
    Slow,
    /// The client broke off, or broke the transfer coding.
    Cut,
    /// A content coding that is not read.
    UnknownCoding(String),
    /// It does not follow its content coding.
    BadCoding,
    /// It is no request.
    Body(BodyError),
    /// Our own fault.
    Internal,
}

/// A body under its bounds, still coded.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) bytes: Bytes,
    pub(crate) codings: Vec<Coding>,
    pub(crate) held: HeldBytes,
}

/// Reads a body.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: B,
    body_max_bytes: u64,
    room: &Arc<Bound>,
) -> Result<Raw, IntakeError>
where
    B: http_body::Body<Data = Bytes>,
{
    let codings = coding::of(headers).map_err(IntakeError::UnknownCoding)?;
    let announced = announced(headers).or(body.size_hint().exact()).unwrap_or(0);
    if announced > body_max_bytes {
        return Err(IntakeError::TooLarge(body_max_bytes));
    }
    let no_room = || IntakeError::NoRoom(room.most());
    // A body of unknown length takes a byte, so that it is refused unread too where none is left.
    let first = if announced == 0 { 1 } else { announced.min(STEP_BYTES) };
    let mut held = HeldBytes::of(room, first).ok_or_else(no_room)?;
    let collecting = async {
        let mut body = pin!(body);
        let mut whole = Gathered::default();
        while let Some(frame) = within(PIECE_WAIT, body.frame()).await? {
            let Ok(data) = frame.map_err(|_| IntakeError::Cut)?.into_data() else { continue };
            let size = (whole.len() + data.len()) as u64;
            if size > body_max_bytes {
                return Err(IntakeError::TooLarge(body_max_bytes));
            }
            if !grow(&mut held, size, announced) {
                return Err(no_room());
            }
            whole.add(data, announced);
        }
        Ok(whole.into_bytes())
    };
    let bytes = within(BODY_WAIT, collecting).await??;
    held.shrink_to(bytes.len() as u64);
    Ok(Raw { bytes, codings, held })
}

/// Waits no longer than that. Most bodies come with their head: they cost no look at a clock.
async fn within<F: Future>(wait: Duration, work: F) -> Result<F::Output, IntakeError> {
    let mut work = pin!(work);
    if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        return Ok(done);
    }
    tokio::time::timeout(wait, work).await.map_err(|_| IntakeError::Slow)
}

/// Takes room for `size` bytes that have come: the whole step where there is room for it.
fn grow(held: &mut HeldBytes, size: u64, announced: u64) -> bool {
    if size <= held.size() {
        return true;
    }
    let step = size.next_multiple_of(STEP_BYTES);
    let step = if size <= announced { step.min(announced) } else { step };
    held.grow_to(step) || held.grow_to(size)
}

/// Undoes the codings and reads the request, off the runtime where it may take long.
pub(crate) async fn parse(
    dialect: Dialect,
    mut raw: Raw,
    body_max_bytes: u64,
    tasks: &Tasks,
) -> Result<(Request, HeldBytes), IntakeError> {
    if raw.codings.is_empty() && raw.bytes.len() <= INLINE_MAX_BYTES {
        let request = request::read(dialect, &raw.bytes).map_err(IntakeError::Body)?;
        return Ok((request, raw.held));
    }
    let work = move || {
        if !raw.codings.is_empty() {
            raw.bytes = undo(&mut raw, body_max_bytes)?;
        }
        let request = request::read(dialect, &raw.bytes).map_err(IntakeError::Body)?;
        Ok((request, raw.held))
    };
    tasks.blocking(work).await.unwrap_or(Err(IntakeError::Internal))
}

fn undo(raw: &mut Raw, body_max_bytes: u64) -> Result<Bytes, IntakeError> {
    let coded = raw.bytes.len() as u64;
    let held = &mut raw.held;
    let mut room = |size: u64| held.grow_to(coded + size);
    let plain = coding::decode(&raw.codings, &raw.bytes, body_max_bytes, &mut room);
    match plain {
        Ok(plain) => {
            held.shrink_to(plain.len() as u64);
            Ok(Bytes::from(plain))
        }
        Err(CodingError::Broken) => Err(IntakeError::BadCoding),
        Err(CodingError::TooLarge) => Err(IntakeError::TooLarge(body_max_bytes)),
        Err(CodingError::NoRoom) => Err(IntakeError::NoRoom(held.bound_most())),
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Pieces of a body; a larger one that came in one piece is not copied.
#[derive(Default)]
struct Gathered {
    first: Option<Bytes>,
    all: BytesMut,
}

impl Gathered {
    fn len(&self) -> usize {
        self.all.len() + self.first.as_ref().map_or(0, Bytes::len)
    }

    fn add(&mut self, data: Bytes, announced: u64) {
        if self.all.is_empty() && self.first.is_none() {
            self.first = Some(data);
            return;
        }
        if let Some(first) = self.first.take() {
            self.all.reserve(announced.min(RESERVE_MAX_BYTES) as usize);
            self.all.extend_from_slice(&first);
        }
        self.all.extend_from_slice(&data);
    }

    /// A small body is copied all the same: it would hold on to the whole buffer of its connection.
    fn into_bytes(self) -> Bytes {
        match self.first {
            Some(first) if first.len() <= COPIED_MAX_BYTES => Bytes::copy_from_slice(&first),
            Some(first) => first,
            None => self.all.freeze(),
        }
    }
}

impl IntakeError {
    /// The refusal in the asker's dialect.
    pub(crate) fn into_response(self, asker: Asker) -> Response<Body> {
        let message = self.say(asker.language);
        match self {
            Self::TooLarge(_) => asker.refused(Fault::TooLarge, &message),
            Self::NoRoom(_) => retry_after(asker.refused(Fault::Unavailable, &message), 1),
            Self::Slow => {
                asker.refused_as(StatusCode::REQUEST_TIMEOUT, Fault::InvalidRequest, &message)
            }
            Self::Cut | Self::BadCoding => asker.refused(Fault::InvalidRequest, &message),
            Self::UnknownCoding(_) => asker.refused(Fault::UnsupportedMedia, &message),
            Self::Body(body) => {
                response(error(asker.dialect, Fault::InvalidRequest, &message, body.param()))
            }
            Self::Internal => asker.refused(Fault::Internal, &message),
        }
    }

    /// In words.
    pub(crate) fn say(&self, language: Language) -> String {
        match self {
            Self::TooLarge(most) => say!(
                language,
                "The body is larger than {size} ({most} bytes), the limit of `limits.body_bytes_max`.",
                "请求体大于 {size}（{most} 字节），即 `limits.body_bytes_max` 的上限。",
                size = show_size_bytes(*most),
                most,
            ),
            Self::NoRoom(most) => say!(
                language,
                "Open calls hold {size} of bodies, the limit of `limits.held_bytes_max`; this one was not taken. Try again shortly.",
                "进行中的请求已占用 {size} 的请求体，即 `limits.held_bytes_max` 的上限；这一个没有接收。请稍后再试。",
                size = show_size_bytes(*most),
            ),
            Self::Slow => say!(
                language,
                "The body came too slowly: 30 s passed without a piece of it, or 10 min in all.",
                "请求体来得太慢：30 秒没有收到任何一段，或总共超过 10 分钟。",
            ),
            Self::Cut => {
                say!(language, "The body broke off before its end.", "请求体在结束之前中断。",)
            }
            Self::UnknownCoding(name) => say!(
                language,
                "The content coding `{name}` is not read; {known} are.",
                "不支持内容编码 `{name}`；支持的有 {known}。",
                name,
                known = coding::KNOWN,
            ),
            Self::BadCoding => say!(
                language,
                "The body does not follow the coding that `content-encoding` names.",
                "请求体与 `content-encoding` 所写的编码不符。",
            ),
            Self::Body(body) => words::of_body(body, language),
            Self::Internal => say!(
                language,
                "Reading the body failed; it is a bug of ours.",
                "读取请求体失败；这是我们的缺陷。",
            ),
        }
    }
}

//! Tokens for clients and administrators on other machines (G9).
//!
//! It refuses to keep a token: what is kept is its SHA-256. A fast digest is enough, because a token
//! is 256 random bits and nobody can try them through; it would not be for a password.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ekiden_config::{Budget, Hindrance, Language, NAME_MAX_CHARS, is_line, say};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::front::Bound;

/// What every token of ours begins with, so that one that was revoked is known for what it was.
pub const PREFIX: &str = "ekt_";

/// The file in the state folder. Only its owner can read it.
pub const FILE_NAME: &str = "tokens.json";

/// Tokens at most: each call compares with all of them.
pub const TOKENS_MAX: usize = 1_000;

const VERSION: u32 = 1;
const RANDOM_BYTES: usize = 32;
const ID_BYTES: usize = 4;
/// A thousand entries with long names and many queues are smaller.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// What a token is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TokenScope")]
pub enum Scope {
    /// Calls.
    Client,
    /// Calls, and the gateway's own interface.
    Admin,
}

/// What a new token shall be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewToken {
    /// For people.
    pub name: String,
    /// What it is for.
    pub scope: Scope,
    /// The ids of the only queues that it may call; empty: everything.
    pub queues: Vec<String>,
    /// How many of its calls may be open at once; `None`: as many as everybody's.
    pub calls_max: Option<u32>,
    /// What it may spend a day; `None`: as much as it likes.
    pub budget_per_day: Option<Budget>,
}

/// A token as it is known: everything but itself.
#[derive(Debug)]
pub struct Token {
    /// Its public name.
    pub id: String,
    /// What it was made as.
    pub made_as: NewToken,
    /// When, in Unix milliseconds.
    pub made_ms: u64,
    digest: [u8; 32],
    pub(crate) calls: Arc<Bound>,
}

/// All tokens of a gateway.
#[derive(Debug, Default)]
pub struct ClientTokens {
    file: Option<PathBuf>,
    known: Mutex<Vec<Arc<Token>>>,
    /// One change at a time, from reading what is known to the file on disk.
    changing: Mutex<()>,
}

/// Why a change was not made, or tokens cannot be read.
#[derive(Debug)]
pub enum TokensError {
    /// There are [`TOKENS_MAX`]: revoke some.
    TooMany,
    /// Nobody could read its name in a list: give it another.
    BadName,
    /// No token has that id.
    Unknown,
    /// The gateway is reached from other machines, and this is the last token of its scope.
    Last,
    /// The file cannot be read or written: look at the state folder.
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: Hindrance,
    },
    /// The file is not one of ours, or of a later version.
    Unreadable {
        /// Which file.
        path: PathBuf,
    },
    /// The system gives no random numbers.
    NoRandom,
}

impl TokensError {
    /// In words.
    #[must_use]
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::TooMany => say!(
                language,
                "there are {most} tokens already; revoke one first",
                "已有 {most} 个令牌；请先吊销一个",
                most = TOKENS_MAX,
            ),
            Self::BadName => say!(
                language,
                "the name of a token is one line of 1 to {most} characters, all of which are seen",
                "令牌的名字应为一行，1 到 {most} 个字符，不含控制字符和看不见的字符",
                most = NAME_MAX_CHARS,
            ),
            Self::Unknown => say!(language, "there is no such token", "没有这个令牌"),
            Self::Last => say!(
                language,
                "it is the last one of its kind, and without it nobody could get in; make another first",
                "这是同类中的最后一个，没有它就谁也进不来；请先新建一个",
            ),
            Self::Io { path, why } => say!(
                language,
                "{path} cannot be kept: {why}",
                "{path} 无法保存：{why}",
                path = path.display(),
                why = why.say(language),
            ),
            Self::Unreadable { path } => say!(
                language,
                "{path} is no file of tokens that this version can read",
                "{path} 不是这个版本能读的令牌文件",
                path = path.display(),
            ),
            Self::NoRandom => {
                say!(language, "the system gives no random numbers", "系统给不出随机数")
            }
        }
    }
}

impl fmt::Display for TokensError {
    /// In English.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl std::error::Error for TokensError {}

/// Whether the last token of a scope may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastToken {
    /// It may: the gateway listens on loopback, or does not run.
    MayGo,
    /// It may not: nobody could get in.
    Stays,
}

/// What a request shows.
#[derive(Clone, Debug)]
pub(crate) enum Shown {
    /// No token of ours.
    Nothing,
    /// One that was revoked, or never made.
    Unknown,
    /// One that holds.
    Known(Arc<Token>),
}

#[derive(Serialize, Deserialize)]
struct FileOfTokens {
    version: u32,
    tokens: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    id: String,
    name: String,
    scope: Scope,
    #[serde(default)]
    queues: Vec<String>,
    #[serde(default)]
    calls_max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_per_day: Option<String>,
    made_ms: u64,
    sha256: String,
}

impl ClientTokens {
    /// The tokens of a state folder; none where there is no file yet.
    ///
    /// # Errors
    /// When the file is there and cannot be read. A gateway that went on without it would take a
    /// token that holds for a revoked one.
    pub fn open(folder: &Path) -> Result<Self, TokensError> {
        let path = folder.join(FILE_NAME);
        let unreadable = |path: &Path| TokensError::Unreadable { path: path.to_owned() };
        let bytes = match fs::metadata(&path) {
            Ok(file) if file.len() > FILE_BYTES_MAX => return Err(unreadable(&path)),
            Ok(_) => fs::read(&path),
            Err(source) => Err(source),
        };
        let known = match bytes {
            Ok(bytes) => {
                let read: FileOfTokens =
                    serde_json::from_slice(&bytes).map_err(|_| unreadable(&path))?;
                if read.version != VERSION {
                    return Err(unreadable(&path));
                }
                let tokens = read.tokens.into_iter().map(|line| line.token().map(Arc::new));
                tokens.collect::<Option<Vec<_>>>().ok_or_else(|| unreadable(&path))?
            }
            Err(source) if source.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(TokensError::Io { path, why: error.into() }),
        };
        Ok(Self { file: Some(path), known: Mutex::new(known), changing: Mutex::default() })
    }

    /// Makes a token, shown this once. It waits for the disk.
    ///
    /// # Errors
    /// When its name does not fit, or when it cannot be kept; then it does not hold.
    pub fn make(
        &self,
        wish: NewToken,
        made_ms: u64,
    ) -> Result<(Arc<Token>, SecretString), TokensError> {
        let name = &wish.name;
        let length = name.chars().count();
        if name.trim().is_empty() || length > NAME_MAX_CHARS || !is_line(name) {
            return Err(TokensError::BadName);
        }
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = self.list();
        if next.len() >= TOKENS_MAX {
            return Err(TokensError::TooMany);
        }
        let text = format!("{PREFIX}{}", random_hex::<RANDOM_BYTES>()?);
        let id = loop {
            let id = random_hex::<ID_BYTES>()?;
            if next.iter().all(|token| token.id != id) {
                break id;
            }
        };
        let token = Arc::new(Token::new(id, wish, made_ms, digest(&text)));
        next.push(Arc::clone(&token));
        self.keep(next)?;
        Ok((token, SecretString::from(text)))
    }

    /// Revokes a token. It waits for the disk.
    ///
    /// # Errors
    /// When there is none of that id, when it must stay, or when it cannot be kept; then the token
    /// still holds.
    pub fn revoke(&self, id: &str, last: LastToken) -> Result<(), TokensError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = self.list();
        let at = next.iter().position(|token| token.id == id).ok_or(TokensError::Unknown)?;
        let gone = next.remove(at);
        let same = |token: &&Arc<Token>| token.made_as.scope == gone.made_as.scope;
        if last == LastToken::Stays && next.iter().find(same).is_none() {
            return Err(TokensError::Last);
        }
        self.keep(next)
    }

    /// All of them, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Token>> {
        self.known().clone()
    }

    /// Whether a gateway that other machines reach may start: there is a client's token and an
    /// administrator's.
    #[must_use]
    pub fn lets_others_in(&self) -> bool {
        let known = self.known();
        let has = |scope| known.iter().any(|token| token.made_as.scope == scope);
        has(Scope::Client) && has(Scope::Admin)
    }

    /// What a text is worth. Every digest is compared whole, so that the time says nothing.
    pub(crate) fn judge(&self, text: &str) -> Shown {
        if !text.starts_with(PREFIX) {
            return Shown::Nothing;
        }
        let given = digest(text);
        let mut found = Shown::Unknown;
        for token in self.known().iter() {
            if bool::from(token.digest.ct_eq(&given)) {
                found = Shown::Known(Arc::clone(token));
            }
        }
        found
    }

    fn keep(&self, next: Vec<Arc<Token>>) -> Result<(), TokensError> {
        if let Some(path) = &self.file {
            let lines = next.iter().map(|token| Line::of(token)).collect();
            let file = FileOfTokens { version: VERSION, tokens: lines };
            let text = serde_json::to_vec_pretty(&file).unwrap_or_default();
            replace(path, &text)
                .map_err(|error| TokensError::Io { path: path.clone(), why: error.into() })?;
        }
        *self.known() = next;
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Vec<Arc<Token>>> {
        // The list is replaced in one step.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Token {
    fn new(id: String, made_as: NewToken, made_ms: u64, digest: [u8; 32]) -> Self {
        let most = made_as.calls_max.map_or(u64::MAX, u64::from);
        Self { id, made_as, made_ms, digest, calls: Bound::new(most) }
    }

    /// Whether it may call the queue of that id.
    #[must_use]
    pub fn may_call(&self, queue: &str) -> bool {
        let queues = &self.made_as.queues;
        queues.is_empty() || queues.iter().any(|own| own == queue)
    }

    /// How many of its calls are open.
    #[must_use]
    pub fn open_calls(&self) -> u64 {
        self.calls.taken()
    }
}

impl Line {
    fn of(token: &Token) -> Self {
        let NewToken { name, scope, queues, calls_max, budget_per_day } = token.made_as.clone();
        let (id, made_ms, sha256) = (token.id.clone(), token.made_ms, hex(&token.digest));
        let budget_per_day = budget_per_day.map(|budget| budget.to_string());
        Self { id, name, scope, queues, calls_max, budget_per_day, made_ms, sha256 }
    }

    fn token(self) -> Option<Token> {
        let made_as = NewToken {
            name: self.name,
            scope: self.scope,
            queues: self.queues,
            calls_max: self.calls_max,
            // One that cannot be read must not let everything through.
            budget_per_day: self.budget_per_day.map(|text| text.parse()).transpose().ok()?,
        };
        let mut digest = [0; 32];
        if self.sha256.len() != 64 || !self.sha256.is_ascii() {
            return None;
        }
        for (at, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(self.sha256.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Token::new(self.id, made_as, self.made_ms, digest))
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn random_hex<const N: usize>() -> Result<String, TokensError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| TokensError::NoRandom)?;
    Ok(hex(&bytes))
}

/// In hexadecimal. Every call's session goes through it, for which formatting costs too much.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.extend([byte >> 4, byte & 15].map(|half| char::from(DIGITS[usize::from(half)])));
    }
    out
}

/// Whoever reads the file finds the old text or the new one, whatever happens meanwhile.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = private(&draft)?;
    file.write_all(text)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&draft, path)?;
    path.parent().map_or(Ok(()), settle)
}

#[cfg(unix)]
fn private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // A draft that was left behind may have had others.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// A user's own folders are private by inheritance there.
#[cfg(not(unix))]
fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)
}

#[cfg(unix)]
fn settle(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A folder cannot be flushed there; the rename itself is written through.
#[cfg(not(unix))]
fn settle(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn wish(scope: Scope) -> NewToken {
        NewToken {
            name: "a".into(),
            scope,
            queues: vec!["fast".into()],
            calls_max: Some(2),
            budget_per_day: Some(Budget::Tokens(5)),
        }
    }

    #[test]
    fn g09_a_token_is_kept_as_its_digest_survives_and_is_revoked() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = ClientTokens::open(dir.path()).unwrap();
        assert!(!tokens.lets_others_in());
        let (client, text) = tokens.make(wish(Scope::Client), 7).unwrap();
        let (admin, _) = tokens.make(wish(Scope::Admin), 7).unwrap();
        let text = text.expose_secret();
        let file = fs::read_to_string(dir.path().join(FILE_NAME)).unwrap();
        assert!(!file.contains(text) && !file.contains(&text[PREFIX.len()..]), "{file}");
        let again = ClientTokens::open(dir.path()).unwrap();
        assert!(again.lets_others_in());
        let Shown::Known(found) = again.judge(text) else { panic!("it holds") };
        assert_eq!((&found.id, &found.made_as), (&client.id, &client.made_as));
        assert!(found.may_call("fast") && !found.may_call("default"));
        assert!(matches!(again.judge("sk-other"), Shown::Nothing));
        assert!(matches!(again.judge(&text[..text.len() - 1]), Shown::Unknown));
        let last = again.revoke(&admin.id, LastToken::Stays);
        assert!(matches!(last, Err(TokensError::Last)), "{last:?}");
        again.revoke(&client.id, LastToken::MayGo).unwrap();
        assert!(matches!(again.judge(text), Shown::Unknown));
        let third = ClientTokens::open(dir.path()).unwrap();
        assert!(matches!(third.judge(text), Shown::Unknown));
        assert!(matches!(third.revoke(&client.id, LastToken::MayGo), Err(TokensError::Unknown)));
    }

    #[test]
    fn g09_a_file_that_cannot_be_read_stops_the_start() {
        let dir = tempfile::tempdir().unwrap();
        for text in [
            "",
            "{}",
            "{\"version\":2,\"tokens\":[]}",
            "{\"version\":1,\"tokens\":[{\"id\":\"a\",\
            \"name\":\"a\",\"scope\":\"client\",\"made_ms\":1,\"sha256\":\"zz\"}]}",
        ] {
            fs::write(dir.path().join(FILE_NAME), text).unwrap();
            let refused = ClientTokens::open(dir.path());
            assert!(matches!(refused, Err(TokensError::Unreadable { .. })), "{text}");
        }
    }

    #[test]
    fn g12_a_token_that_could_not_be_kept_does_not_hold() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = ClientTokens::open(&dir.path().join("gone")).unwrap();
        let refused = tokens.make(wish(Scope::Client), 1);
        assert!(matches!(refused, Err(TokensError::Io { .. })), "{refused:?}");
        assert_eq!(tokens.list().len(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn g09_only_the_owner_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("tokens.new"), "left behind").unwrap();
        let tokens = ClientTokens::open(dir.path()).unwrap();
        tokens.make(wish(Scope::Client), 1).unwrap();
        let mode = fs::metadata(dir.path().join(FILE_NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

//! Running the built program in surroundings that are the same everywhere.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Questions until something is given up: each takes a fraction of a millisecond at least.
const MANY: usize = 100_000;

/// A run of the program, being prepared.
pub(crate) struct Ekiden {
    command: Command,
    input: String,
    folder: Option<String>,
    state: PathBuf,
    /// Where the state is unless a test has a folder of its own.
    own: TempDir,
}

/// A program that is running, with its output so far.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) greeting: String,
    /// Lives as long as the program.
    _state: TempDir,
}

impl Ekiden {
    pub(crate) fn new(words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ekiden"));
        command.args(words).env_clear().env("LC_ALL", "C");
        // Windows needs it for its sockets.
        let root = std::env::vars_os().find(|(name, _)| name.eq_ignore_ascii_case("SYSTEMROOT"));
        command.envs(root);
        let own = tempfile::tempdir().unwrap();
        let ekiden =
            Self { command, input: String::new(), folder: None, state: PathBuf::new(), own };
        let state = ekiden.own.path().join("state");
        ekiden.state(&state)
    }

    /// Keeps its state in this folder, whose name is not shown.
    pub(crate) fn state(mut self, folder: &Path) -> Self {
        self.command.env("EKIDEN_STATE_DIR", folder);
        self.state = folder.to_owned();
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// A full disk, as far as files go that are larger than so many blocks of 512 or 1,024 bytes: what
    /// exceeds them is refused, and the program is not ended for it.
    #[cfg(unix)]
    pub(crate) fn files_max(mut self, blocks: u32) -> Self {
        let limits = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut limited = Command::new("/bin/sh");
        limited.arg("-c").arg(limits).arg(self.command.get_program());
        limited.args(self.command.get_args()).env_clear();
        let set = self.command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        limited.envs(set);
        self.command = limited;
        self
    }

    pub(crate) fn input(mut self, text: &str) -> Self {
        self.input = text.to_owned();
        self
    }

    /// Runs in a folder, whose name is not shown.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self.folder = Some(folder.display().to_string());
        self
    }

    /// Everything that the program said, and its exit code.
    pub(crate) fn result(self) -> String {
        let folder = self.folder.clone();
        let state = self.state.display().to_string();
        let (code, out, err) = self.run();
        let mut text = format!("exit code {code}\n");
        for (name, said) in [("stdout", out), ("stderr", err)] {
            if !said.is_empty() {
                text.push_str(&format!("--- {name}\n{said}"));
            }
        }
        let text = text.replace(&state, "[state]");
        match folder {
            Some(folder) => text.replace(&folder, "[folder]"),
            None => text,
        }
    }

    pub(crate) fn run(mut self) -> (i32, String, String) {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that reads nothing may be gone before all is written.
        let _ = stdin.write_all(self.input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    /// Starts the gateway and waits until it has said all that it says at its start.
    pub(crate) fn serve(mut self, last_line: &str) -> Served {
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut greeting = String::new();
        loop {
            let Some(line) = lines.next() else {
                let mut err = String::new();
                child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
                panic!("it ended after\n{greeting}\n{err}");
            };
            let line = line.unwrap();
            greeting.push_str(&line);
            greeting.push('\n');
            if line.contains(last_line) {
                break;
            }
        }
        let url = greeting.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:"));
        let url = url.unwrap().split('/').take(3).collect::<Vec<_>>().join("/");
        let greeting = greeting.replace(&self.state.display().to_string(), "[state]");
        // What it says at its end goes nowhere, and must not be an error.
        Served { child, url, greeting, _state: self.own }
    }
}

impl Served {
    pub(crate) fn port(&self) -> &str {
        self.url.rsplit(':').next().unwrap()
    }

    /// The answer to a request: status and body.
    pub(crate) fn ask(&self, head: &str, body: &str) -> (u16, String) {
        let mut stream = self.send(head, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    /// A request whose answer nobody has read yet.
    pub(crate) fn send(&self, head: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port())).unwrap();
        let request = format!(
            "{head} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// What it says once it says so.
    pub(crate) fn until(&self, path: &str, says: impl Fn(&str) -> bool) -> String {
        for _ in 0..MANY {
            let (_, answer) = self.ask(&format!("GET {path}"), "");
            if says(&answer) {
                return answer;
            }
        }
        panic!("{path} never said so: {}", self.ask(&format!("GET {path}"), "").1);
    }

    /// Ends it without a word, and gives what it had said on standard error.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Text without what differs from run to run: spans, moments, ports, tokens and ids.
pub(crate) fn steady(text: &str) -> String {
    text.lines().map(steady_line).collect::<Vec<_>>().join("\n")
}

/// Units of spans, the longest first.
const SPANS: [&str; 8] = ["min", "ms", "s", "h", "毫秒", "小时", "秒", "分"];

fn steady_line(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let before = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let next = words.get(at + 1).copied().unwrap_or_default();
        let rest = SPANS.into_iter().find_map(|unit| next.strip_prefix(unit));
        let rest = rest.filter(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        if let Some(rest) = rest.filter(|_| before.len() < word.len()) {
            // Its column is as wide as the span is long.
            if out.iter().all(String::is_empty) {
                out.clear();
            }
            out.push(format!("{before}[span]{rest}"));
            at += 2;
        } else {
            out.push(steady_word(word));
            at += 1;
        }
    }
    out.join(" ")
}

/// What every date, time and token looks like.
const SHAPES: [(&str, &str); 2] = [("0000-00-00", "[date]"), ("00:00:00", "[time]")];

/// A word without its dates and times.
fn timeless(word: &str) -> String {
    let shape = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
    };
    let mut out = word.to_owned();
    for (shape_of, name) in SHAPES {
        if let Some(at) = shape(&out).find(shape_of) {
            out.replace_range(at..at + shape_of.len(), name);
        }
    }
    out
}

fn steady_word(word: &str) -> String {
    if word.starts_with("ekt_") {
        return "[token]".to_owned();
    }
    let word = &timeless(word);
    if let Some((before, after)) = word.split_once("127.0.0.1:")
        && after.starts_with(|c: char| c.is_ascii_digit())
    {
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        return format!("{before}127.0.0.1:[port]{rest}");
    }
    match word.strip_prefix("ek-") {
        Some(id) => {
            let rest = id.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == '-');
            format!("[call]{rest}")
        }
        None => word.to_owned(),
    }
}

//! Running the built program in surroundings that are the same everywhere.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A run of the program, being prepared.
pub(crate) struct Ekiden {
    command: Command,
    input: String,
    folder: Option<String>,
}

/// A program that is running, with its output so far.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) greeting: String,
}

impl Ekiden {
    pub(crate) fn new(words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ekiden"));
        command.args(words).env_clear().env("LC_ALL", "C");
        // Windows needs it for its sockets.
        let root = std::env::vars_os().find(|(name, _)| name.eq_ignore_ascii_case("SYSTEMROOT"));
        command.envs(root);
        Self { command, input: String::new(), folder: None }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
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
        let (code, out, err) = self.run();
        let mut text = format!("exit code {code}\n");
        for (name, said) in [("stdout", out), ("stderr", err)] {
            if !said.is_empty() {
                text.push_str(&format!("--- {name}\n{said}"));
            }
        }
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
        // What it says at its end goes nowhere, and must not be an error.
        Served { child, url, greeting }
    }
}

impl Served {
    pub(crate) fn port(&self) -> &str {
        self.url.rsplit(':').next().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Text without what differs from run to run: spans, ports and ids.
pub(crate) fn steady(text: &str) -> String {
    text.lines().map(steady_line).collect::<Vec<_>>().join("\n")
}

/// Units of spans, the longest first.
const SPANS: [&str; 7] = ["min", "ms", "s", "h", "毫秒", "秒", "分"];

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

fn steady_word(word: &str) -> String {
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

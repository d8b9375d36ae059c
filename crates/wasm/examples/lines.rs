//! Answers as the WebAssembly file does, natively: `lines history FILE`, `lines replay FILE`,
//! `lines classify FILE`. It adds nothing, so that both can be compared byte for byte.

use std::io::Write as _;
use std::process::ExitCode;

use ekiden_engine::history::History;
use ekiden_wasm::answer;

fn main() -> std::io::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, file] = words.as_slice() else { return Ok(ExitCode::FAILURE) };
    let text = std::fs::read_to_string(file)?;
    let answer = match what.as_str() {
        "history" => answer::lines(&mut History::new(), &text),
        "replay" => answer::replay(&text),
        "classify" => answer::classify(&text),
        _ => return Ok(ExitCode::FAILURE),
    };
    std::io::stdout().write_all(answer.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

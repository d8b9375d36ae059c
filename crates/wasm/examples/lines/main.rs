//! Answers as the WebAssembly file does, natively, so that both can be compared byte for byte:
//! `lines history FILE`, `lines replay FILE`, `lines classify FILE`; the last two take several
//! texts, parted by the record separator (U+001E), and answer so. `lines sample CALLS` writes a
//! history. It adds nothing to any answer.

use std::io::Write as _;
use std::process::ExitCode;

use ekiden_engine::history::History;
use ekiden_wasm::answer;

mod sample;

fn main() -> std::io::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, word] = words.as_slice() else { return Ok(ExitCode::FAILURE) };
    if what == "sample" {
        let Ok(calls) = word.parse() else { return Ok(ExitCode::FAILURE) };
        std::io::stdout().write_all(sample::history(calls).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = std::fs::read_to_string(word)?;
    let each = |answer: fn(&str) -> String| {
        text.split('\u{1e}').map(answer).collect::<Vec<_>>().join("\u{1e}")
    };
    let answer = match what.as_str() {
        "history" => answer::lines(&mut History::new(), &text),
        "replay" => each(answer::replay),
        "classify" => each(answer::classify),
        _ => return Ok(ExitCode::FAILURE),
    };
    std::io::stdout().write_all(answer.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

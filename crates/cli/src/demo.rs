//! `ekiden demo`: a relay to watch, through real sockets and the real gateway. It refuses to act:
//! only the models are scripted, and everything that is drawn is asked of the gateway.

mod conversation;
mod picture;
mod stage;
mod watch;

use std::time::Duration;

use ekiden_gateway::stop_signal;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::args::DemoArgs;
use crate::failure::{Ended, Failure};
use crate::running::Api;
use crate::terminal::{Ink, Say, Terminal};
use crate::why;

use conversation::{Heard, Turn, turns};
use picture::Picture;
use stage::{Pace, Stage};
use watch::Lanes;

/// Between two looks at the gateway.
const FRAME: Duration = Duration::from_millis(60);

/// Plays the relay; stays until it is told to end, unless it is to be played once.
///
/// # Errors
/// When no port can be had, or the terminal is gone.
pub(crate) fn run(terminal: &Terminal, args: &DemoArgs) -> Result<Ended, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(play(terminal, args))
}

async fn play(terminal: &Terminal, args: &DemoArgs) -> Result<Ended, Failure> {
    // Who reads lines reads them afterwards.
    let pace = if terminal.draws() { Pace::Watchable } else { Pace::Brisk };
    let stage = Stage::set(terminal, pace).await?;
    let base = format!("http://{}", stage.gateway.addr());
    let api = Api::at(Some(&base));
    terminal.line(&terminal.ink(Ink::Strong, &terminal.say(&Words::Title)))?;
    terminal.tell(&Words::Cast)?;
    for turn in turns(terminal.language) {
        terminal.line("")?;
        terminal.line(&terminal.ink(Ink::Strong, &terminal.say(&turn.heading())))?;
        let stopped = tokio::select! {
            played = one(terminal, &api, &base, &turn) => { played?; false }
            () = stop_signal() => true,
        };
        if stopped {
            return Ok(Ended::Well);
        }
    }
    if !args.once {
        terminal.line("")?;
        terminal.tell(&Words::AskItYourself { base: base.clone() })?;
        stop_signal().await;
    }
    // What is still open is a demo's, and may be cut off.
    drop(stage);
    Ok(Ended::Well)
}

/// One turn of the conversation, drawn or told.
async fn one(terminal: &Terminal, api: &Api, base: &str, turn: &Turn) -> Result<(), Failure> {
    let routes = api.routes(terminal, turn.queue).await?;
    let mut lanes = Lanes::new(turn.queue, routes, api.newest_entry(terminal).await?);
    let mut picture = Picture::new(terminal);
    let (says, mut words) = mpsc::unbounded_channel();
    let mut asking = std::pin::pin!(turn.ask(base, says));
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let began = frames.tick().await;
    let mut answer = String::new();
    let heard: Heard = loop {
        tokio::select! {
            heard = &mut asking => break heard?,
            Some(word) = words.recv() => answer.push_str(&word),
            at = frames.tick(), if terminal.draws() => {
                lanes.look(terminal, api, at.duration_since(began).as_millis() as u64).await?;
                picture.draw(&lanes, &answer)?;
            }
        }
    };
    while let Ok(word) = words.try_recv() {
        answer.push_str(&word);
    }
    if terminal.draws() {
        lanes.settle(terminal, api, &heard.call).await?;
        picture.draw(&lanes, &answer)?;
    } else {
        terminal.raw(&why::story(terminal, api, &heard.call).await?)?;
        terminal.tell(&Words::Answer { text: answer })?;
    }
    Ok(())
}

/// What is said around the picture.
enum Words {
    Title,
    Cast,
    Answer { text: String },
    AskItYourself { base: String },
}

impl Words {
    fn curl(base: &str, content: &str) -> String {
        let body = format!(
            r#"{{"model":"{}","stream":true,"messages":[{{"role":"user","content":"{content}"}}]}}"#,
            stage::CHAT_QUEUE,
        );
        let quoted = if cfg!(windows) {
            format!("\"{}\"", body.replace('"', "\\\""))
        } else {
            format!("'{body}'")
        };
        format!(
            "curl -N {base}/v1/chat/completions -H \"content-type: application/json\" -d {quoted}"
        )
    }
}

impl Say for Words {
    fn english(&self) -> String {
        match self {
            Self::Title => "A relay of models, seen from outside as one model".to_owned(),
            Self::Cast => "\
acme is out of quota. borealis never answers. cirrus thinks and breaks off. delta works.
echo speaks the other dialect, and asks for a second's patience first.
Who fails is asked twice more, who says nothing is not; then the next takes over.
Until a model has said something that counts, nothing of it is shown: so the next can take over."
                .to_owned(),
            Self::Answer { text } => format!("answer: {text}"),
            Self::AskItYourself { base } => format!(
                "The gateway stays up; ask it yourself. This runs the relay again (who has failed \
                 within a minute is asked once, not three times):\n  {}\n\
                 And this tells what became of it:\n  ekiden why last --url {base}\n\
                 Ctrl-C ends it.",
                Self::curl(base, "Who runs the last leg?"),
            ),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Title => "一场模型接力；从外面看，它就是一个模型".to_owned(),
            Self::Cast => "\
acme 额度用尽。borealis 从不回答。cirrus 想到一半断开。delta 正常。
echo 说另一种协议，先要求等一秒。
失败的再试两次，不出声的不再等；然后换下一个。
模型说出有效内容之前，什么都不会放出去：所以下一个总能接棒。"
                .to_owned(),
            Self::Answer { text } => format!("回答：{text}"),
            Self::AskItYourself { base } => format!(
                "网关继续运行，你可以自己问它。再跑一次接力（一分钟内失败过的只问一次，不是三次）：\n  {}\n\
                 查看经过：\n  ekiden why last --url {base}\n\
                 按 Ctrl-C 结束。",
                Self::curl(base, "谁跑最后一棒？"),
            ),
        }
    }
}

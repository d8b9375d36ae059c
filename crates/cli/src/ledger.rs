//! `ekiden ledger`: attempts and tokens, summed (R34). It refuses to add what was reported to what was
//! estimated.

use serde::Deserialize;
use serde_json::Value;

use crate::args::{By, Form, LedgerArgs};
use crate::failure::{Ended, Failure};
use crate::moments::day;
use crate::running::{self, Api, encoded};
use crate::sessions::{self, shown};
use crate::table::{Cell, Table};
use crate::terminal::{Say, Terminal};

#[derive(Debug, Deserialize)]
struct Ledger {
    sums: Vec<Sum>,
    #[serde(default)]
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Sum {
    key: String,
    all: Share,
    waste: Share,
}

#[derive(Debug, Deserialize)]
struct Share {
    attempts: u64,
    input: Tokens,
    output: Tokens,
    #[serde(default)]
    cost: Vec<Money>,
}

/// Money of one currency.
#[derive(Clone, Debug, Deserialize)]
struct Money {
    currency: String,
    reported_nano: u64,
    estimated_nano: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Tokens {
    reported: u64,
    estimated: u64,
}

/// Shows the sums.
///
/// # Errors
/// When there is no gateway.
pub(crate) fn run(terminal: &Terminal, args: &LedgerArgs) -> Result<Ended, Failure> {
    let api = Api::at(args.asking.url.as_deref());
    running::block_on(async {
        let query = query(terminal, &api, args).await?;
        let mut table = Table::headed(headings(terminal, args.by));
        let mut after: Option<String> = None;
        let mut whole: Option<Value> = None;
        let mut sums = 0;
        loop {
            let page =
                after.as_deref().map_or(String::new(), |it| format!("&after={}", encoded(it)));
            let text = api.get(terminal, &format!("/api/v1/ledger?{query}{page}")).await?;
            let ledger: Ledger = api.parsed(terminal, &text)?;
            for sum in &ledger.sums {
                table.row(row(terminal, args.by, sum));
            }
            sums += ledger.sums.len();
            joined(&mut whole, api.parsed(terminal, &text)?);
            match ledger.next {
                Some(next) if !ledger.sums.is_empty() => after = Some(next),
                Some(_) | None => break,
            }
        }
        match (args.asking.form(), whole) {
            (Form::Json, Some(whole)) => terminal.line(&whole.to_string())?,
            (Form::Json, None) => {}
            (Form::Words, _) if sums == 0 => terminal.tell(&Nothing)?,
            (Form::Words, _) => terminal.raw(&table.lines(terminal, ""))?,
        }
        Ok(Ended::Well)
    })
}

/// The pages of an answer as one.
fn joined(whole: &mut Option<Value>, mut page: Value) {
    match whole.as_mut().and_then(|whole| whole.get_mut("sums")).and_then(Value::as_array_mut) {
        Some(sums) => {
            if let Some(more) = page.get_mut("sums").and_then(Value::as_array_mut) {
                sums.append(more);
            }
        }
        None => {
            if let Some(next) = page.get_mut("next") {
                *next = Value::Null;
            }
            *whole = Some(page);
        }
    }
}

async fn query(terminal: &Terminal, api: &Api, args: &LedgerArgs) -> Result<String, Failure> {
    let by = match args.by {
        By::Day => "day",
        By::Queue => "queue",
        By::Candidate => "route",
        By::Session => "session",
        By::Call => "call",
        By::Token => "token",
    };
    let mut query = format!("by={by}&limit=1000");
    if let Some(days) = args.days {
        let state = api.state(terminal).await?;
        let today = state.pointer("/day/number").and_then(Value::as_u64).unwrap_or(0);
        let from = today.saturating_sub(u64::from(days).saturating_sub(1));
        query.push_str(&format!("&from_day={from}"));
    }
    let session = match &args.of_session {
        Some(named) => Some(sessions::key_of(terminal, api, named).await?),
        None => None,
    };
    for (name, value) in
        [("session", &session), ("queue", &args.of_queue), ("route", &args.of_route)]
    {
        if let Some(value) = value {
            query.push_str(&format!("&{name}={}", encoded(value)));
        }
    }
    Ok(query)
}

fn headings(terminal: &Terminal, by: By) -> Vec<Cell> {
    let numbers = [
        Column::Attempts,
        Column::Input,
        Column::Output,
        Column::Cost,
        Column::Dropped,
        Column::DroppedTokens,
        Column::DroppedCost,
    ];
    let first = Cell::new(terminal.say(&Column::Key(by)));
    let numbers = numbers.iter().map(|column| Cell::number(terminal.say(column)));
    [first].into_iter().chain(numbers).collect()
}

fn row(terminal: &Terminal, by: By, sum: &Sum) -> Vec<Cell> {
    let key = match (by, sum.key.parse()) {
        (By::Day, Ok(number)) => day(number),
        (By::Session, _) => shown(&sum.key).to_owned(),
        (By::Day | By::Queue | By::Candidate | By::Call | By::Token, _) => sum.key.clone(),
    };
    let Share { attempts, input, output, cost } = &sum.waste;
    let dropped = Tokens {
        reported: input.reported.saturating_add(output.reported),
        estimated: input.estimated.saturating_add(output.estimated),
    };
    vec![
        Cell::new(key),
        Cell::number(sum.all.attempts.to_string()),
        Cell::number(terminal.say(&sum.all.input)),
        Cell::number(terminal.say(&sum.all.output)),
        Cell::number(paid(&sum.all.cost)),
        Cell::number(attempts.to_string()),
        Cell::number(terminal.say(&dropped)),
        Cell::number(paid(cost)),
    ]
}

/// Money in each currency; what is counted from a price in part stands behind a `~`.
fn paid(cost: &[Money]) -> String {
    let one = |money: &Money| {
        let all = ekiden_config::amount(money.reported_nano.saturating_add(money.estimated_nano));
        let mark = if money.estimated_nano > 0 { "~" } else { "" };
        format!("{} {mark}{all}", money.currency)
    };
    cost.iter().map(one).collect::<Vec<_>>().join(" + ")
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Tokens {
    /// Reported ones, and estimated ones behind a `~`.
    fn told(self) -> String {
        match (self.reported, self.estimated) {
            (reported, 0) => grouped(reported),
            (0, estimated) => format!("~{}", grouped(estimated)),
            (reported, estimated) => format!("{} ~{}", grouped(reported), grouped(estimated)),
        }
    }
}

impl Say for Tokens {
    fn english(&self) -> String {
        self.told()
    }

    fn chinese(&self) -> String {
        self.told()
    }
}

enum Column {
    Key(By),
    Attempts,
    Input,
    Output,
    Cost,
    Dropped,
    DroppedTokens,
    DroppedCost,
}

impl Say for Column {
    fn english(&self) -> String {
        match self {
            Self::Key(By::Day) => "day",
            Self::Key(By::Queue) => "queue",
            Self::Key(By::Candidate) => "candidate",
            Self::Key(By::Session) => "session",
            Self::Key(By::Call) => "call",
            Self::Key(By::Token) => "token",
            Self::Cost => "cost",
            Self::DroppedCost => "cost dropped",
            Self::Attempts => "attempts",
            Self::Input => "tokens in",
            Self::Output => "tokens out",
            Self::Dropped => "dropped",
            Self::DroppedTokens => "tokens dropped",
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::Key(By::Day) => "日期",
            Self::Key(By::Queue) => "队列",
            Self::Key(By::Candidate) => "候选",
            Self::Key(By::Session) => "会话",
            Self::Key(By::Call) => "请求",
            Self::Key(By::Token) => "令牌",
            Self::Cost => "费用",
            Self::DroppedCost => "丢弃费用",
            Self::Attempts => "尝试",
            Self::Input => "输入词元",
            Self::Output => "输出词元",
            Self::Dropped => "丢弃",
            Self::DroppedTokens => "丢弃词元",
        }
        .to_owned()
    }
}

struct Nothing;

impl Say for Nothing {
    fn english(&self) -> String {
        "the ledger holds nothing of that".to_owned()
    }

    fn chinese(&self) -> String {
        "账本中没有这样的记录".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r34_reported_and_estimated_tokens_are_told_apart() {
        for (reported, estimated, told) in
            [(0, 0, "0"), (1_234_567, 0, "1,234,567"), (0, 12, "~12"), (999, 1_000, "999 ~1,000")]
        {
            assert_eq!(Tokens { reported, estimated }.english(), told);
        }
    }
}

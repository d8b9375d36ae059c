//! What the reader sees, and what is kept: a table on the terminal, `results.json`, and on wish
//! the section of BENCHMARKS.md between its markers. It rounds, and it leaves nothing out.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::counted::Step;
use crate::figures::{AGREEMENT, Row, Target, median};

const BEGIN: &str = "<!-- results: written by `cargo xtask bench --write` -->";
const END: &str = "<!-- end of results -->";

/// Writes one line to standard output. A reader who has gone away is no failure.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The machine, and how busy it was with other things.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) nginx: String,
    pub(crate) ekiden: String,
    /// The load averages when the run began and when it ended.
    pub(crate) load: [String; 2],
    /// The share of the machine that others used during the run, from 0 to 1.
    pub(crate) others: f64,
}

impl Machine {
    /// The machine as it is now; load at the end and others are filled in later.
    pub(crate) fn look(ekiden: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let processor = info
            .lines()
            .find(|line| line.starts_with("model name"))
            .and_then(|line| line.split_once(": "))
            .map_or("unknown", |(_, name)| name);
        Self {
            processor: processor.to_owned(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            nginx: version("nginx".as_ref(), "-v"),
            ekiden: version(ekiden, "--version"),
            load: [load(), String::new()],
            others: 0.0,
        }
    }

    fn json(&self) -> Value {
        json!({
            "processor": self.processor,
            "cores": self.cores,
            "kernel": self.kernel,
            "nginx": self.nginx,
            "ekiden": self.ekiden,
            "load_at_begin": self.load[0],
            "load_at_end": self.load[1],
            "used_by_others": self.others,
        })
    }

    fn sentence(&self) -> String {
        let Self { processor, cores, kernel, nginx, ekiden, load, others } = self;
        let plural = if *cores == 1 { "core" } else { "cores" };
        format!(
            "{ekiden}, {nginx}; {cores} {plural} of {processor}, Linux {kernel}. Load average {} \
             when it began, {} when it ended; other programs used {:.0} % of the machine.",
            load[0],
            load[1],
            others * 100.0
        )
    }
}

/// The three load averages.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// What a program says of its version; nginx says it to standard error.
fn version(program: &Path, flag: &str) -> String {
    let Ok(output) = Command::new(program).arg(flag).output() else { return String::new() };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().next().unwrap_or_default().replace("nginx version: nginx/", "nginx ")
}

/// A whole run: the passes row by row, and the counts.
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) passes: Vec<Vec<Row>>,
    pub(crate) counts: Vec<(Step, f64)>,
}

impl Results {
    /// Each row over all passes, and how far the first two passes lie apart.
    fn rows(&self) -> Vec<(Row, Option<f64>)> {
        let Some((first, others)) = self.passes.split_first() else { return Vec::new() };
        first
            .iter()
            .enumerate()
            .map(|(index, row)| {
                let second = others.first().and_then(|pass| pass.get(index));
                let row_of_all = second.map_or_else(|| row.clone(), |second| row.with(second));
                (row_of_all, second.map(|second| row.apart(second)))
            })
            .collect()
    }

    pub(crate) fn json(&self) -> Value {
        let pass = |rows: &Vec<Row>| rows.iter().map(Row::json).collect::<Vec<_>>();
        let count =
            |(step, count): &(Step, f64)| json!({ "step": step.name(), "instructions": count });
        json!({
            "machine": self.machine.json(),
            "passes": self.passes.iter().map(pass).collect::<Vec<_>>(),
            "instructions": self.counts.iter().map(count).collect::<Vec<_>>(),
        })
    }

    /// Whether a run that was kept as `results.json` agrees with this one; nothing if it ran on
    /// another machine.
    pub(crate) fn against(&self, earlier: &Value) -> Option<String> {
        let (here, there) = (self.machine.json(), &earlier["machine"]);
        if ["processor", "cores", "kernel"].iter().any(|key| here[*key] != there[*key]) {
            return None;
        }
        let rows = self.rows();
        let passes = &earlier["passes"];
        let pairs: Vec<_> =
            rows.iter().filter_map(|(row, _)| Some((row, row.earlier(passes)?))).collect();
        let off: Vec<&str> = pairs
            .iter()
            .filter(|(row, earlier)| row.apart(earlier) > AGREEMENT)
            .map(|(row, _)| row.title)
            .collect();
        match (pairs.len(), off.is_empty()) {
            (0, _) => None,
            (_, true) => Some("The run before agrees within 10 % in every line.".to_owned()),
            (all, false) => Some(format!(
                "The run before does not agree within 10 % in {} of {all} lines: {}.",
                off.len(),
                off.join("; ")
            )),
        }
    }

    /// The results as Markdown, which reads well on a terminal too.
    pub(crate) fn markdown(&self) -> String {
        let mut lines = vec![
            ["", "no proxy", "nginx", "Ekiden", "Ekiden / nginx", "target", "", "passes apart"]
                .map(str::to_owned),
        ];
        for (row, apart) in self.rows() {
            lines.push(line(&row, apart));
        }
        let mut text = format!("{}\n\n{}", self.machine.sentence(), table(&lines));
        text.push('\n');
        text.push_str(&self.agreement());
        if !self.counts.is_empty() {
            let mut lines = vec![["step", "instructions"].map(str::to_owned)];
            for (step, count) in &self.counts {
                lines.push([step.title().to_owned(), grouped(*count)]);
            }
            let _ = write!(text, "\n{}", table(&lines));
        }
        text
    }

    /// Whether the two passes agree.
    fn agreement(&self) -> String {
        let rows = self.rows();
        let off: Vec<&str> = rows
            .iter()
            .filter(|(_, apart)| apart.is_some_and(|apart| apart > AGREEMENT))
            .map(|(row, _)| row.title)
            .collect();
        match (self.passes.len(), off.is_empty()) {
            (0 | 1, _) => {
                "One pass alone: nothing says whether a second one would agree.\n".to_owned()
            }
            (_, true) => "The two passes agree within 10 % in every line.\n".to_owned(),
            (_, false) => format!(
                "The two passes do not agree within 10 % in {} of {} lines: {}.\n",
                off.len(),
                rows.len(),
                off.join("; ")
            ),
        }
    }
}

fn line(row: &Row, apart: Option<f64>) -> [String; 8] {
    let figure = |samples: &[f64]| match samples {
        [] => String::new(),
        some => rounded(median(some)),
    };
    let unit = if row.unit.is_empty() { String::new() } else { format!(", {}", row.unit) };
    let target = match row.target {
        Target::None => String::new(),
        Target::AtMost(most) => format!("≤ {}", grouped(most)),
        Target::TimesNginx(most) => format!("≤ {most} × nginx"),
    };
    let meets = match row.meets() {
        None => "",
        Some(true) => "met",
        Some(false) => "**missed**",
    };
    [
        format!("{}{unit}", row.title),
        figure(&row.nothing),
        figure(&row.nginx),
        figure(&row.ekiden),
        row.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        target,
        meets.to_owned(),
        apart.map_or_else(String::new, |apart| format!("{:.0} %", apart * 100.0)),
    ]
}

/// Three digits that mean something.
fn rounded(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => grouped(value.round()),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// `12,345`, or `1.2` as it is.
fn grouped(value: f64) -> String {
    if value.abs() < 1000.0 {
        return format!("{}", (value * 100.0).round() / 100.0);
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn table<const N: usize>(lines: &[[String; N]]) -> String {
    let width = |column: usize| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "| {cell:<width$} ");
        }
        text.push_str("|\n");
        if index == 0 {
            for (column, width) in widths.iter().enumerate() {
                let (dashes, end) = ("-".repeat(width - 1), if column == 0 { "-" } else { ":" });
                let _ = write!(text, "| {dashes}{end} ");
            }
            text.push_str("|\n");
        }
    }
    text
}

/// Puts the results between the page's markers.
///
/// # Errors
/// When the page cannot be read or written, or has no markers.
pub(crate) fn write_into(page: &Path, results: &str) -> anyhow::Result<()> {
    let name = || page.display().to_string();
    let text = fs::read_to_string(page).with_context(name)?;
    let text = placed(&text, results)
        .with_context(|| format!("{} has no lines {BEGIN} and {END}", page.display()))?;
    fs::write(page, text).with_context(name)
}

fn placed(page: &str, results: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{results}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            processor: "P".to_owned(),
            cores: 2,
            kernel: "6".to_owned(),
            nginx: "nginx 1".to_owned(),
            ekiden: "ekiden 0".to_owned(),
            load: ["0 0 0".to_owned(), "1 1 1".to_owned()],
            others: 0.031,
        }
    }

    #[test]
    fn results_take_the_place_of_earlier_ones_alone() {
        let page = format!("# Page\n\n{BEGIN}\nold\n{END}\n\n## Limits\n");
        let once = placed(&page, "new\n").unwrap();
        assert_eq!(once, format!("# Page\n\n{BEGIN}\n\nnew\n\n{END}\n\n## Limits\n"));
        assert_eq!(placed(&once, "new\n").unwrap(), once);
        assert_eq!(placed("# Page\n", "new\n"), None);
    }

    #[test]
    fn an_earlier_run_is_compared_on_the_same_machine_alone() {
        let mut row = Row::new("cpu", "CPU per request", "µs");
        (row.nginx, row.ekiden) = (vec![10.0], vec![16.0]);
        let passes = vec![vec![row.clone()], vec![row]];
        let mut results = Results { machine: machine(), passes, counts: Vec::new() };
        let earlier = results.json();
        assert!(results.against(&earlier).unwrap().contains("agrees within 10 % in every line"));
        for pass in &mut results.passes {
            pass[0].ekiden = vec![20.0];
        }
        assert!(results.against(&earlier).unwrap().contains("1 of 1 lines: CPU per request"));
        results.machine.cores = 64;
        assert_eq!(results.against(&earlier), None);
    }

    #[test]
    fn figures_keep_three_digits_that_mean_something() {
        assert_eq!(rounded(0.6449), "0.64");
        assert_eq!(rounded(17.26), "17.3");
        assert_eq!(rounded(50_264.4), "50,264");
        assert_eq!(grouped(1_234_567.0), "1,234,567");
        assert_eq!(grouped(120.0), "120");
        assert_eq!(grouped(1.2), "1.2");
    }

    #[test]
    fn a_pass_that_does_not_agree_is_named() {
        let mut row = Row::new("cpu", "CPU per request", "µs").aims(Target::TimesNginx(1.7));
        (row.nginx, row.ekiden) = (vec![10.0], vec![16.0]);
        let mut other = row.clone();
        let mut results = Results {
            machine: machine(),
            passes: vec![vec![row.clone()], vec![row]],
            counts: Vec::new(),
        };
        assert!(results.markdown().contains("agree within 10 % in every line"));
        assert!(results.markdown().contains("other programs used 3 %"));
        other.ekiden = vec![20.0];
        results.passes[1] = vec![other];
        assert!(results.markdown().contains("do not agree within 10 % in 1 of 1 lines: CPU per"));
    }
}

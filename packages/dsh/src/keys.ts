/**
 * The gateway's keys that hold here too. Printed from docs/configuration.md by scripts/keys.mjs; it
 * refuses to be edited by hand.
 */

/** What a key takes; bounds of spans in milliseconds, of sizes in bytes. */
export type Takes =
  | { readonly kind: 'bool' | 'texts' | 'zone' | 'candidates' }
  | { readonly kind: 'integer' | 'size'; readonly min: number; readonly max: number }
  | { readonly kind: 'span'; readonly min_ms: number; readonly max_ms: number }
  | { readonly kind: 'text'; readonly chars_max: number }
  | { readonly kind: 'choice' | 'choices'; readonly of: readonly string[] };

/** One key. */
export interface KeyRow {
  readonly group: 'top' | 'queue' | 'candidate' | 'journal' | 'policy' | 'clock';
  readonly name: string;
  readonly takes: Takes;
  /** The gateway's default, as people read it. */
  readonly standard: string;
  readonly en: string;
  readonly zh: string;
}

export const ROWS: readonly KeyRow[] = [
  {"group":"top","name":"time_zone","takes":{"kind":"zone"},"standard":"the system's","en":"The time zone whose day counts, by its IANA name (R17).","zh":"以哪个时区计日，填 IANA 名称（R17）。"},
  {"group":"top","name":"reset_hour","takes":{"kind":"integer","min":0,"max":23},"standard":"1","en":"The hour at which the day turns: quarantine, tallies and speeds end (R17).","zh":"每日重置的钟点：隔离、计数与速度清空（R17）。"},
  {"group":"top","name":"enabled","takes":{"kind":"bool"},"standard":"true","en":"Off: every queue is one try on its first candidate; nothing is held, retried, judged or recorded (R0).","zh":"关闭后每条队列只在第一个候选上试一次，不暂存、不重试、不判定、不记录（R0）。"},
  {"group":"top","name":"unknown_model","takes":{"kind":"choice","of":["error","first"]},"standard":"error","en":"What an unknown model name gets: an `error` with the nearest names, or the `first` queue (R1).","zh":"未知模型名：`error` 报错并给出相近名称，`first` 用第一条队列（R1）。"},
  {"group":"queue","name":"name","takes":{"kind":"text","chars_max":100},"standard":"the id","en":"The name that people see; renaming keeps the id (R1).","zh":"显示给人看的名称；改名不改 id（R1）。"},
  {"group":"queue","name":"candidates","takes":{"kind":"candidates"},"standard":"[]","en":"In the order in which they are tried: `\"provider/model\"`, a table with a `route`, or one text with a candidate a line (R2).","zh":"按尝试顺序排列：`\"provider/model\"`、带 `route` 的表，或每行一个候选的一段文本（R2）。"},
  {"group":"candidate","name":"route","takes":{"kind":"text","chars_max":300},"standard":"required","en":"`provider/model`.","zh":"`provider/model`。"},
  {"group":"candidate","name":"effort","takes":{"kind":"text","chars_max":100},"standard":"the client's, where the model knows it","en":"The effort that is sent, if the model knows it (R35).","zh":"发送的思考强度，模型认识才发（R35）。"},
  {"group":"candidate","name":"effort_levels","takes":{"kind":"texts"},"standard":"[]","en":"The levels that the model knows, where the catalog does not say (R35).","zh":"模型认识的思考强度，目录中没有时填写（R35）。"},
  {"group":"candidate","name":"context_window","takes":{"kind":"integer","min":1000,"max":100000000},"standard":"the catalog's","en":"The context window in tokens (R36).","zh":"上下文窗口，以词元计（R36）。"},
  {"group":"candidate","name":"max_tokens","takes":{"kind":"integer","min":1,"max":100000000},"standard":"none","en":"More output tokens than this are not asked for.","zh":"请求的输出词元数不超过此值。"},
  {"group":"candidate","name":"max_sessions","takes":{"kind":"integer","min":1,"max":16},"standard":"none","en":"How many sessions may hold a seat; unset is no cap (R24).","zh":"可占席位的会话数；不填即不限（R24）。"},
  {"group":"candidate","name":"max_in_flight","takes":{"kind":"integer","min":1,"max":1000},"standard":"none","en":"How many calls may run at once; unset is no cap (R24).","zh":"可同时进行的请求数；不填即不限（R24）。"},
  {"group":"journal","name":"enabled","takes":{"kind":"bool"},"standard":"true","en":"Whether the journal is kept.","zh":"是否记录。"},
  {"group":"journal","name":"entries_max","takes":{"kind":"integer","min":1,"max":100000},"standard":"200","en":"How many entries are kept; older ones are pruned.","zh":"保留多少条，更旧的会被清理。"},
  {"group":"policy","name":"policy","takes":{"kind":"choice","of":["relay","health","chain","persist","none"]},"standard":"relay","en":"The preset that the other fields stand on: `relay` is the whole relay; `health` cools what fails for everybody and keeps the current candidate; `chain` is a head with fallbacks; `persist` goes round and round until an answer comes; `none` is one try on the first candidate.","zh":"预设，其余字段叠加其上：`relay` 为完整接力；`health` 对所有会话冷却出错的候选并保持当前候选；`chain` 为链头加备用；`persist` 一轮轮重试直到成功；`none` 只在第一个候选上试一次。"},
  {"group":"policy","name":"enabled","takes":{"kind":"bool"},"standard":"true","en":"Off: one try on the first candidate; nothing is held, retried, judged or recorded (R0).","zh":"关闭后只在第一个候选上试一次，不暂存、不重试、不判定、不记录（R0）。"},
  {"group":"policy","name":"retries","takes":{"kind":"integer","min":0,"max":10},"standard":"2","en":"Further attempts on the same candidate after a failure, byte for byte the same; 0 is one try (R7).","zh":"失败后在同一候选上原样重发的次数；0 表示只试一次（R7）。"},
  {"group":"policy","name":"retry_pause","takes":{"kind":"span","min_ms":0,"max_ms":60000},"standard":"250ms","en":"The pause before the first retry after `overloaded` or `server_error`, four times as long before later ones, jittered; 0 is no pause (R7).","zh":"遇到 `overloaded` 或 `server_error` 后首次重试前的停顿，之后为四倍，带抖动；0 表示不停顿（R7）。"},
  {"group":"policy","name":"attempts_max","takes":{"kind":"integer","min":1,"max":100},"standard":"16","en":"Attempts in one call at most; retries are left out before an untried candidate loses its one attempt (R8).","zh":"一次请求的尝试总数上限；先省去重试，未试过的候选总有一次机会（R8）。"},
  {"group":"policy","name":"deadline","takes":{"kind":"span","min_ms":0,"max_ms":86400000},"standard":"0","en":"The longest that one call may take in all; 0 is no limit. A deadline blames no candidate (R8, R11).","zh":"一次请求的总时限；0 表示不限。到时不归咎于任何候选（R8、R11）。"},
  {"group":"policy","name":"continue_text","takes":{"kind":"text","chars_max":2000},"standard":"继续","en":"What the user messages say that a failover may carry (R9).","zh":"接力时可附带的用户消息内容（R9）。"},
  {"group":"policy","name":"continue_on_failover","takes":{"kind":"choice","of":["always","auto","never"]},"standard":"never","en":"When a failover carries `continue_text`: `always`, `auto` (only when the conversation already has an assistant turn or a tool result), `never` (R9).","zh":"接力何时附带 `continue_text`：`always` 总是；`auto` 仅当对话已有助手回合或工具结果；`never` 从不（R9）。"},
  {"group":"policy","name":"continues_max","takes":{"kind":"integer","min":0,"max":3},"standard":"3","en":"How many such messages a call carries at most (R9).","zh":"一次请求最多附带几条这样的消息（R9）。"},
  {"group":"policy","name":"continue_delay","takes":{"kind":"span","min_ms":0,"max_ms":600000},"standard":"0","en":"The pause before a failover that carries `continue_text`; retries never wait for it (R9).","zh":"附带 `continue_text` 的接力之前的停顿；重试从不等它（R9）。"},
  {"group":"policy","name":"commit","takes":{"kind":"choice","of":["first-output","first-token","complete"]},"standard":"first-output","en":"When held output is let through: at the first visible output, at the first token (reasoning too), or when the answer is complete (R10).","zh":"暂存的输出何时放行：首个可见输出、首个词元（含推理），或整条回答完成后（R10）。"},
  {"group":"policy","name":"hold_bytes_max","takes":{"kind":"size","min":65536,"max":67108864},"standard":"8MiB","en":"How much of one answer is held back at most; beyond it the call commits (R10).","zh":"单条回答最多暂存多少；超出即放行（R10）。"},
  {"group":"policy","name":"client_stall","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"5m","en":"A client that reads nothing for this long counts as gone; 0 is never (R11).","zh":"客户端这么久不读取即视为离开；0 表示从不（R11）。"},
  {"group":"policy","name":"rotate_after","takes":{"kind":"integer","min":0,"max":100},"standard":"2","en":"Truncations in a row in a session before its next call starts one candidate further; 0 is never (R14).","zh":"同一会话连续截断几次后，下一次请求从后一个候选开始；0 表示从不（R14）。"},
  {"group":"policy","name":"overflow","takes":{"kind":"choice","of":["tell","larger"]},"standard":"tell","en":"What a context overflow does: `tell` the client, so that it compacts, or try a candidate whose known window is `larger` (R15).","zh":"上下文超限时：`tell` 告知客户端以便其压缩，`larger` 改试已知窗口更大的候选（R15）。"},
  {"group":"policy","name":"failover_on_filter","takes":{"kind":"bool"},"standard":"false","en":"Whether a content filter's refusal moves on to the next candidate.","zh":"内容过滤拒绝时是否换下一个候选。"},
  {"group":"policy","name":"wait_max","takes":{"kind":"span","min_ms":0,"max_ms":600000},"standard":"30s","en":"How long a call waits for a candidate to come back when none can run (R5).","zh":"没有候选可用时，一次请求最多等多久（R5）。"},
  {"group":"policy","name":"retry_when_all_quarantined","takes":{"kind":"bool"},"standard":"true","en":"Whether quarantined candidates are tried, in order, when nothing else can run; success lifts the quarantine (R5).","zh":"别无可用时是否按序重试被隔离的候选；成功即解除隔离（R5）。"},
  {"group":"policy","name":"parole_after","takes":{"kind":"span","min_ms":0,"max_ms":86400000},"standard":"1m","en":"How long after a transient quarantine one live call may try the candidate again, doubling each time; 0 is never (R18).","zh":"临时性隔离多久后放一次真实请求去试，每次加倍；0 表示从不（R18）。"},
  {"group":"policy","name":"parole_max","takes":{"kind":"span","min_ms":0,"max_ms":86400000},"standard":"1h","en":"`parole_after` doubles up to this (R18).","zh":"`parole_after` 加倍的上限（R18）。"},
  {"group":"policy","name":"parole_idle","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"30s","en":"The idle clock of a parole attempt at most (R18).","zh":"假释尝试的空闲时限上限（R18）。"},
  {"group":"policy","name":"cooldown","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"1m","en":"How long a rate-limited route cools, for every session, when the answer names no wait; 0 falls back to quarantine (R21).","zh":"限流且未给出等待时间时，该线路对所有会话冷却多久；0 则改为隔离（R21）。"},
  {"group":"policy","name":"cooldown_max","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"1h","en":"A wait that an answer names is cut to this, then the route is tried once (R21).","zh":"回答给出的等待时间以此为上限，到时试一次（R21）。"},
  {"group":"policy","name":"inline_wait","takes":{"kind":"span","min_ms":0,"max_ms":60000},"standard":"3s","en":"A named wait up to this is simply waited for and the same bytes go again (R23).","zh":"给出的等待不超过此值时就地等待后原样重发（R23）。"},
  {"group":"policy","name":"lease_idle","takes":{"kind":"span","min_ms":0,"max_ms":86400000},"standard":"5m","en":"An idle seat may be taken back after this, when the cap is full and somebody wants in (R26).","zh":"席位已满且有人等候时，空闲超过此值的席位可被收回（R26）。"},
  {"group":"policy","name":"lease_rest","takes":{"kind":"span","min_ms":0,"max_ms":300000},"standard":"5s","en":"How long a route that was full rests for other sessions when a seat is given back; 0 is off (R27).","zh":"满员线路交还席位后对其他会话休息多久；0 表示关闭（R27）。"},
  {"group":"policy","name":"judged_memory","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"1m","en":"For how long a judged failure on another session leaves a call one attempt on that route, without retry (R8).","zh":"其他会话在该线路上判定失败后的这段时间内，请求在其上只试一次、不重试（R8）。"},
  {"group":"policy","name":"quarantine","takes":{"kind":"bool"},"standard":"true","en":"Whether a judged failure takes the candidate out for the day, for its session and queue (R17); off with `health`, `chain` and `persist`.","zh":"判定失败是否将候选对该会话与队列隔离当日（R17）；`health`、`chain`、`persist` 下关闭。"},
  {"group":"policy","name":"sticky","takes":{"kind":"bool"},"standard":"false","en":"Whether the candidate that answered a session last stays its first one while it is healthy, even when an earlier one recovers (H3); on with `health`.","zh":"上次答复该会话的候选健康时是否一直排在最前，即使更靠前的已恢复（H3）；`health` 下开启。"},
  {"group":"policy","name":"switch_on","takes":{"kind":"texts"},"standard":"[\"all\"]","en":"The failure classes that count and move on; a failure of another class goes up, uncounted (C3). `all` is every class; `chain` has a list of its own.","zh":"计数并换候选的失败类别；其他类别直接上抛且不计数（C3）。`all` 为全部；`chain` 有自己的清单。"},
  {"group":"policy","name":"switching","takes":{"kind":"choice","of":["in-call","next-call"]},"standard":"in-call","en":"Whether the call that finds a candidate out moves on itself (`in-call`), or is told the failure and only the next call moves on (`next-call`, which `health` has; H5).","zh":"发现候选出错的那次请求自己换候选（`in-call`），还是上抛失败、下一次请求才换（`next-call`，`health` 如此；H5）。"},
  {"group":"policy","name":"failure_threshold","takes":{"kind":"integer","min":0,"max":100},"standard":"0","en":"Failures of a route in a row that open its breaker; below it the failure goes up; 0 is no breaker. Counts where `quarantine` is off; 1 with `health` and `chain` (H1, C4).","zh":"线路连续失败几次后熔断；未达到时失败上抛；0 表示不熔断。仅在 `quarantine` 关闭时计数；`health`、`chain` 下为 1（H1、C4）。"},
  {"group":"policy","name":"breaker_cooldown","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"1m","en":"How long a route cools, for everybody, when its breaker opens; then one live call probes it. 30 s with `chain` (H1, C4).","zh":"熔断时线路对所有会话冷却多久，之后放一次真实请求试探；`chain` 下为 30 秒（H1、C4）。"},
  {"group":"policy","name":"breaker_cooldown_max","takes":{"kind":"span","min_ms":0,"max_ms":86400000},"standard":"10m","en":"`breaker_cooldown` doubles up to this with each probe that fails; 30 s with `chain`, so that it does not (H1).","zh":"每次试探失败 `breaker_cooldown` 加倍，以此为上限；`chain` 下为 30 秒，即不加倍（H1）。"},
  {"group":"policy","name":"breaker_at_once","takes":{"kind":"texts"},"standard":"[]","en":"Failure classes that open the breaker at once, for `breaker_cooldown_max`; `auth` and `not_found` with `health` (H2).","zh":"立即熔断到 `breaker_cooldown_max` 的失败类别；`health` 下为 `auth` 与 `not_found`（H2）。"},
  {"group":"policy","name":"all_cooling","takes":{"kind":"choice","of":["wait","soonest","head"]},"standard":"wait","en":"What a call does that finds every candidate cooling: `wait` (R5), try the one whose cooldown ends `soonest` (with `health`), or the `head` (with `chain`).","zh":"所有候选都在冷却时：`wait` 等待（R5），`soonest` 试最先结束的（`health`），`head` 试第一个（`chain`）。"},
  {"group":"policy","name":"persist","takes":{"kind":"bool"},"standard":"false","en":"Whether a call that is through the queue waits and goes round again, for failures that may pass (P1, P3); on with `persist`.","zh":"一轮试完后，对可能恢复的失败是否等待并再来一轮（P1、P3）；`persist` 下开启。"},
  {"group":"policy","name":"max_rounds","takes":{"kind":"integer","min":0,"max":1000000},"standard":"0","en":"How often a call goes round again at most; 0 is no limit (P1).","zh":"一次请求最多再来几轮；0 表示不限（P1）。"},
  {"group":"policy","name":"backoff","takes":{"kind":"span","min_ms":0,"max_ms":600000},"standard":"1s","en":"The wait before the first further round; it doubles with each (P2).","zh":"再来一轮之前的等待，每轮加倍（P2）。"},
  {"group":"policy","name":"backoff_max","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"30s","en":"`backoff` doubles up to this (P2).","zh":"`backoff` 加倍的上限（P2）。"},
  {"group":"policy","name":"backoff_jitter","takes":{"kind":"integer","min":0,"max":100},"standard":"20","en":"How far such a wait may be off, up or down, in per cent (P2).","zh":"此等待上下浮动的百分比（P2）。"},
  {"group":"clock","name":"connect_timeout","takes":{"kind":"span","min_ms":0,"max_ms":600000},"standard":"10s","en":"Until the connection stands; 0 is off (R11).","zh":"建立连接的时限；0 表示关闭（R11）。"},
  {"group":"clock","name":"headers_timeout","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"90s","en":"From the request until the head of a streamed answer; 0 is off. 600 s for local base URLs (R11).","zh":"从发出请求到流式回答响应头的时限；0 表示关闭。本地地址为 600 秒（R11）。"},
  {"group":"clock","name":"first_byte_timeout","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"0","en":"Until the first byte of a streamed answer, in place of `idle_timeout`; 0 leaves it to `idle_timeout`. 600 s for local base URLs, which may load a model first (R11).","zh":"流式回答首字节之前代替 `idle_timeout` 的时限；0 则由 `idle_timeout` 计时。本地地址可能要先加载模型，为 600 秒（R11）。"},
  {"group":"clock","name":"idle_timeout","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"2m","en":"No byte of a streamed answer since the attempt was sent or since the last byte; 0 is off. An answer that is not streamed has its share of `deadline`, or of the time that its client waits (R8, R11).","zh":"流式回答自发出或上一个字节起没有任何字节的时限；0 表示关闭。非流式的回答只受 `deadline` 或客户端等待时间中它那一份的限制（R8、R11）。"},
  {"group":"clock","name":"progress_timeout","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"10m","en":"Bytes, but neither output nor reasoning; 0 is off (R11).","zh":"有字节却既无输出也无推理的时限；0 表示关闭（R11）。"},
  {"group":"clock","name":"first_output_timeout","takes":{"kind":"span","min_ms":0,"max_ms":3600000},"standard":"0","en":"From the start of the attempt until visible output; 0 is off (R11).","zh":"从尝试开始到首个可见输出的时限；0 表示关闭（R11）。"},
];

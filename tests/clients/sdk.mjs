// The JavaScript libraries, each as a small agent: it asks, reads the note when it is told to, and
// asks again. Reads jobs as JSON from its input, writes one line of JSON for each.
import { readFileSync } from "node:fs";

const { base, key, prompt, note, jobs } = JSON.parse(readFileSync(0, "utf8"));
// It runs as a copy beside the packages, so that their names are found.
const load = (name) => import(name);
const TURNS_MAX = 4;
const PARAMETERS = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const ABOUT = "Reads the note";

async function openai(queue, stream, out) {
  const { default: OpenAI } = await load("openai");
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: key });
  const messages = [{ role: "user", content: prompt }];
  const tools = [{ type: "function", function: { name: "read_note", description: ABOUT, parameters: PARAMETERS } }];
  while (out.turns++ < TURNS_MAX) {
    out.text = "";
    const calls = [];
    const answer = await client.chat.completions.create({ model: queue, messages, tools, stream });
    if (stream) {
      for await (const { choices: [choice] } of answer) {
        out.text += choice?.delta?.content ?? "";
        out.finish = choice?.finish_reason ?? out.finish;
        for (const { index, id, function: f } of choice?.delta?.tool_calls ?? []) {
          calls[index] ??= { id, type: "function", function: { name: f.name, arguments: "" } };
          calls[index].function.arguments += f.arguments ?? "";
        }
      }
    } else {
      const { message, finish_reason } = answer.choices[0];
      out.text = message.content ?? "";
      out.finish = finish_reason;
      calls.push(...(message.tool_calls ?? []));
    }
    if (out.finish !== "tool_calls") return;
    messages.push({ role: "assistant", content: out.text || null, tool_calls: calls });
    for (const call of calls) {
      JSON.parse(call.function.arguments);
      messages.push({ role: "tool", tool_call_id: call.id, content: note });
    }
    out.finish = null;
  }
}

async function anthropic(queue, stream, out) {
  const { default: Anthropic } = await load("@anthropic-ai/sdk");
  const client = new Anthropic({ baseURL: base, apiKey: key });
  const messages = [{ role: "user", content: prompt }];
  const tools = [{ name: "read_note", description: ABOUT, input_schema: PARAMETERS }];
  while (out.turns++ < TURNS_MAX) {
    out.text = "";
    const body = { model: queue, max_tokens: 500, messages, tools };
    let answer;
    if (stream) {
      const running = client.messages.stream(body).on("text", (text) => (out.text += text));
      answer = await running.finalMessage();
    } else {
      answer = await client.messages.create(body);
    }
    out.text = answer.content.filter((block) => block.type === "text").map((block) => block.text).join("");
    out.finish = answer.stop_reason;
    if (out.finish !== "tool_use") return;
    messages.push({ role: "assistant", content: answer.content });
    const used = answer.content.filter((block) => block.type === "tool_use");
    messages.push({ role: "user", content: used.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: note })) });
    out.finish = null;
  }
}

const aiSdk = (model) => async (queue, stream, out) => {
  const { streamText, generateText, jsonSchema, stepCountIs, tool } = await load("ai");
  const read = tool({ description: ABOUT, inputSchema: jsonSchema(PARAMETERS), execute: async () => note });
  const stopWhen = (stepCountIs ?? (await load("ai")).isStepCount)(TURNS_MAX);
  const body = { model: await model(queue), prompt, tools: { read_note: read }, stopWhen };
  if (!stream) {
    const answer = await generateText(body);
    [out.text, out.finish, out.turns] = [answer.text, answer.finishReason, answer.steps.length];
    return;
  }
  const failed = [];
  const answer = streamText({ ...body, onError: ({ error }) => failed.push(error) });
  for await (const part of answer.textStream) out.text += part;
  if (failed.length) throw failed[0];
  out.finish = await answer.finishReason;
  out.turns = (await answer.steps).length;
};

const aiChat = aiSdk(async (queue) => {
  const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
  return createOpenAICompatible({ name: "ekiden", baseURL: `${base}/v1`, apiKey: key })(queue);
});
const aiOpenai = aiSdk(async (queue) => {
  const { createOpenAI } = await load("@ai-sdk/openai");
  return createOpenAI({ baseURL: `${base}/v1`, apiKey: key }).chat(queue);
});
const aiAnthropic = aiSdk(async (queue) => {
  const { createAnthropic } = await load("@ai-sdk/anthropic");
  return createAnthropic({ baseURL: `${base}/v1`, apiKey: key })(queue);
});

const langchain = (model) => async (queue, stream, out) => {
  const { HumanMessage, ToolMessage } = await load("@langchain/core/messages");
  const chat = (await model(queue)).bindTools([{ type: "function", function: { name: "read_note", description: ABOUT, parameters: PARAMETERS } }]);
  const messages = [new HumanMessage(prompt)];
  const said = (content) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join(""));
  while (out.turns++ < TURNS_MAX) {
    out.text = "";
    let answer;
    if (stream) {
      for await (const chunk of await chat.stream(messages)) {
        out.text += said(chunk.content);
        answer = answer ? answer.concat(chunk) : chunk;
      }
    } else {
      answer = await chat.invoke(messages);
      out.text = said(answer.content);
    }
    const about = { ...answer.additional_kwargs, ...answer.response_metadata };
    out.finish = about.finish_reason ?? about.stop_reason ?? null;
    if (!answer.tool_calls?.length) return;
    messages.push(answer);
    for (const call of answer.tool_calls) messages.push(new ToolMessage({ content: note, tool_call_id: call.id }));
  }
};
const lcOpenai = langchain(async (queue) => {
  const { ChatOpenAI } = await load("@langchain/openai");
  return new ChatOpenAI({ model: queue, apiKey: key, configuration: { baseURL: `${base}/v1` } });
});
const lcAnthropic = langchain(async (queue) => {
  const { ChatAnthropic } = await load("@langchain/anthropic");
  return new ChatAnthropic({ model: queue, apiKey: key, anthropicApiUrl: base, maxTokens: 500 });
});

const CLIENTS = {
  "openai-js": openai, "anthropic-js": anthropic, "ai-compatible": aiChat, "ai-openai": aiOpenai,
  "ai-anthropic": aiAnthropic, "langchain-js-openai": lcOpenai, "langchain-js-anthropic": lcAnthropic,
};

async function done({ client, way, queue }) {
  const out = { client, way, queue, text: "", finish: null, error: null, turns: 0 };
  const began = Date.now();
  try {
    await CLIENTS[client](queue, way === "stream", out);
  } catch (error) {
    const inner = error?.lastError ?? error;
    out.error = `${error?.constructor?.name} ${inner?.status ?? inner?.statusCode ?? ""} ${String(error?.message).slice(0, 300)}`;
  }
  out.ms = Date.now() - began;
  process.stdout.write(`${JSON.stringify(out)}\n`);
}

const left = [...jobs];
await Promise.all(Array.from({ length: 12 }, async () => {
  for (let job = left.shift(); job; job = left.shift()) await done(job);
}));

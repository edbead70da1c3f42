// A model server on loopback that plays a workflow of three tasks, in the protocols of Codex (Responses) and Claude Code
// (Messages). It reads from each request whose turn it is, and answers as a model would: a tool call that writes a file, then the
// result. Each request becomes a line of the log, which the script checks.
//
//   node server.mjs LOG    prints its port; the file LOG.hang makes it hold the first request of task 3 until the file is gone
import { appendFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';

const log = process.argv[2];
const hang = `${log}.hang`;
let count = 0;

const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const path = new URL(request.url, 'http://x').pathname;
    if (request.method !== 'POST') return json(response, 200, {});
    if (path.endsWith('/count_tokens')) return json(response, 200, { input_tokens: 100 });
    const asked = JSON.parse(body || '{}');
    if (path.endsWith('/responses')) return responses(asked, response);
    if (path.endsWith('/messages')) return messages(asked, response);
    json(response, 404, { error: { message: `no ${path} here` } });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

function json(response, status, value) {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
}

// --- what is to be done ---

// The turns of a conversation, as lists of texts: one list for each prompt of superstep, with what came after it.
function turnsOf(items) {
    const turns = [];
    for (const item of items) {
        const opens = item.who === 'user' && /, \d+ of \d+|Review the work|Review all|Your answer could not/.test(item.text);
        if (opens) turns.push({ prompt: item.text, after: [] });
        else turns.at(-1)?.after.push(item);
    }
    return turns;
}

// What a request asks for: role, task, whether it is another attempt, and whether the tool was called already.
function read(items) {
    const turns = turnsOf(items);
    const last = turns.at(-1);
    if (!last) return { role: 'other' };
    const role = /^Review all/m.test(last.prompt) ? 'final' : /^Review the work/m.test(last.prompt) ? 'reviewer' : 'developer';
    const task = /^Task (\d+), \d+ of \d+/m.exec(last.prompt)?.[1] ?? '';
    const retry = /was not accepted/.test(last.prompt);
    const done = last.after.some(item => item.who === 'tool');
    const handed = last.after.some(item => /Structured output provided/.test(item.text));
    const again = /Earlier comments/.test(last.prompt);
    return { role, task, retry, done, handed, again, turns: turns.length, prompt: last.prompt };
}

// The result of a turn, or none if a file is to be written first.
function answer(asked) {
    const { role, task, retry, done } = asked;
    if (role === 'other') return { result: {} };
    if (role === 'final') return { result: { approved: true, summary: 'All parts fit.' } };
    if (role === 'reviewer') {
        if (task !== '2' || asked.again) return { result: { approved: true, severity: 'none' } };
        const comment = { severity: 'major', file: 'part-2.txt', line: 1, issue: 'The second part is too thin.' };
        return { result: { approved: false, severity: 'major', comments: [comment] } };
    }
    // Claude Code refuses to write over a file that it has not read.
    if (role === 'developer' && !done) return { file: retry ? `more-${task}.txt` : `part-${task}.txt`, text: 'x' };
    return { result: { status: 'done', summary: `part ${task}`, files: [`part-${task}.txt`] } };
}

function note(asked, extra) {
    const { prompt, ...rest } = asked;
    const line = { nth: count++, ...rest, too_thin: /too thin/.test(prompt ?? ''), ...extra };
    appendFileSync(log, JSON.stringify(line) + '\n');
}

async function held(asked) {
    if (asked.role !== 'developer' || asked.task !== '3' || !existsSync(hang)) return;
    appendFileSync(hang, 'held\n');
    while (existsSync(hang)) await new Promise(go => setTimeout(go, 100));
}

function stream(response) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return (type, value) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`);
}

// --- Responses ---

function fromResponses(item) {
    const text = (item.content ?? []).map?.(part => part.text ?? '').join('') ?? '';
    if (item.type === 'message' || item.role) return { who: item.role, text };
    if (/_output$/.test(item.type)) return { who: 'tool', text: JSON.stringify(item.output ?? '') };
    return { who: 'assistant', text: '' };
}

// Codex fills optional properties with null: its schemas are strict.
function strict(value, schema) {
    if (Array.isArray(value)) return value.map(item => strict(item, schema?.items ?? {}));
    const properties = schema?.properties ?? schema?.anyOf?.find(one => one.properties)?.properties;
    if (!value || typeof value !== 'object' || !properties) return value;
    return Object.fromEntries(Object.entries(properties).map(([name, of]) => {
        const list = of.items ? of : of.anyOf?.find(one => one.items) ?? of;
        return [name, name in value ? strict(value[name], list) : null];
    }));
}

async function responses(asked, response) {
    const what = read((asked.input ?? []).map(fromResponses));
    const schema = asked.text?.format?.schema;
    note(what, { protocol: 'responses', strict: asked.text?.format?.strict, schema });
    await held(what);
    const { file, text, result } = answer(what);
    const send = stream(response);
    const id = `resp_${count}`;
    send('response.created', { response: { id, object: 'response', status: 'in_progress', output: [] } });
    const item = file
        ? { type: 'function_call', id: `fc_${count}`, call_id: `call_${count}`, name: 'exec_command', status: 'completed',
            arguments: JSON.stringify({ cmd: `printf '${text}\\n' > ${file}` }) }
        : { type: 'message', id: `msg_${count}`, role: 'assistant', status: 'completed',
            content: [{ type: 'output_text', text: JSON.stringify(strict(result, schema)), annotations: [] }] };
    send('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress' } });
    send('response.output_item.done', { output_index: 0, item });
    const usage = { input_tokens: 100, input_tokens_details: { cached_tokens: 0 }, output_tokens: 10,
        output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 110 };
    send('response.completed', { response: { id, object: 'response', status: 'completed', output: [item], usage } });
    response.end();
}

// --- Messages ---

function fromMessages(message) {
    if (typeof message.content === 'string') return [{ who: message.role, text: message.content }];
    return message.content.map(part => part.type === 'tool_result'
        ? { who: 'tool', text: JSON.stringify(part.content ?? '') }
        : { who: message.role, text: part.text ?? '' });
}

async function messages(asked, response) {
    // Claude Code also asks for a title of the conversation, without tools.
    const what = asked.tools?.length ? read((asked.messages ?? []).flatMap(fromMessages)) : { role: 'other' };
    const tool = (asked.tools ?? []).find(tool => tool.name === 'StructuredOutput');
    note(what, { protocol: 'messages', tools: (asked.tools ?? []).map(tool => tool.name), schema: tool?.input_schema });
    await held(what);
    const { file, text, result } = answer(what);
    const cwd = /working directory: (\S+)/i.exec(JSON.stringify(asked.system) + JSON.stringify(asked.messages))?.[1]
        ?.replace(/[\\"].*$/, '');
    const submitted = what.role === 'other' || what.handed;
    const call = file
        ? { name: 'Write', input: { file_path: `${cwd}/${file}`, content: `${text}\n` } }
        : { name: 'StructuredOutput', input: result };
    const id = `toolu_${count}`;
    const block = submitted ? { type: 'text', text: '' } : { type: 'tool_use', id, name: call.name, input: {} };
    const usage = { input_tokens: 100, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const message = { id: `msg_${count}`, type: 'message', role: 'assistant', model: asked.model, content: [], usage,
        stop_reason: null, stop_sequence: null };
    const stop = submitted ? 'end_turn' : 'tool_use';
    if (!asked.stream) {
        const content = [submitted ? { type: 'text', text: 'ok' } : { ...block, input: call.input }];
        return json(response, 200, { ...message, content, stop_reason: stop });
    }
    const send = stream(response);
    send('message_start', { message });
    send('content_block_start', { index: 0, content_block: block });
    const delta = submitted ? { type: 'text_delta', text: 'ok' }
        : { type: 'input_json_delta', partial_json: JSON.stringify(call.input) };
    send('content_block_delta', { index: 0, delta });
    send('content_block_stop', { index: 0 });
    send('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 10 } });
    send('message_stop', {});
    response.end();
}

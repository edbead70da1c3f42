// Holds the requests that the server noted against the workflow: who was asked, in which session, with which schemas.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const asked = readFileSync(process.argv[2], 'utf8').trim().split('\n').map(line => JSON.parse(line));
const of = (role, task) => asked.filter(one => one.role === role && (task === undefined || one.task === task));

// A new session for each task; the second attempt at task 2 goes on in the session of the first, and is told why.
for (const task of ['1', '3']) assert.ok(of('developer', task).every(one => one.turns === 1), `task ${task} has a session of its own`);
const [first, retry] = [of('developer', '2').filter(one => !one.retry), of('developer', '2').filter(one => one.retry)];
assert.ok(first.length > 0 && first.every(one => one.turns === 1), 'task 2 begins in a session of its own');
assert.ok(retry.length > 0 && retry.every(one => one.turns === 2), 'the second attempt goes on in the same session');
assert.ok(retry.every(one => one.too_thin), 'the developer knows the comment');

// Two reviews of task 2, one of the others, one of everything; each request for a review is one turn.
const reviews = task => new Set(of('reviewer', task).map(one => one.again)).size;
assert.deepEqual(['1', '2', '3'].map(reviews), [1, 2, 1]);
assert.ok(of('final').length > 0, 'all work is reviewed');

// The real submit schemas reach the model, without what its program does not take.
const formats = [];
const look = (value, path) => {
    if (!value || typeof value !== 'object') return;
    if (typeof value.format === 'string') formats.push(path);
    for (const [key, inner] of Object.entries(value)) look(inner, `${path}/${key}`);
};
for (const role of ['developer', 'reviewer', 'final']) {
    const schemas = of(role).map(one => one.schema).filter(Boolean);
    assert.ok(schemas.length > 0, `the ${role} is offered a schema`);
    schemas.forEach(schema => look(schema, role));
    const key = role === 'developer' ? 'status' : 'approved';
    assert.ok(schemas.every(schema => key in schema.properties), `the ${role}'s schema`);
}
assert.deepEqual(formats, []);
console.log(`${asked.length} requests`);

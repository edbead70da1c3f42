// What every run that the page creates asks for, so that its tasks are seen at work. Knows no request.

/** Messages as they are written and what nodes emit, from subgraphs too, stored for those who come later; and states, as other clients read them. */
export const STREAMED = { stream_mode: ["values", "messages-tuple", "custom"], stream_subgraphs: true, stream_resumable: true };

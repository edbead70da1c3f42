// What the server says of itself, and of the key that is used: read once, and again with another key. Knows no view.

import { effect, signal } from "@preact/signals";

import { key } from "../api/key";
import { isRecording } from "../api/recording";
import { request } from "../api/source";

export type KeyRole = "read" | "answer" | "run" | "admin";

export interface ServerInfo {
  version: string;
  /** The name and the role of the key; null on a server without keys. */
  caller?: { name: string; role: KeyRole } | null;
}

const ROLES: KeyRole[] = ["read", "answer", "run", "admin"];

export const serverInfo = signal<ServerInfo | null>(null);

/** Returns whether the key may do what needs a role; also if the server does not say. */
export function mayAct(needed: KeyRole): boolean {
  const role = serverInfo.value?.caller?.role;
  return role === undefined || ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

let isAsked = false;

/** Reads it, for those who show it. */
export function readServerInfo(): void {
  if (isAsked || isRecording()) return;
  isAsked = true;
  effect(() => {
    key.value;
    request<ServerInfo>("/info").then((info) => (serverInfo.value = info), () => (serverInfo.value = null));
  });
}

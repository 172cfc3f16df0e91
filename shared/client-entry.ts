/** The package's entry `threadmux/client`: the typed client, and what its callers name. */
export type { AnswerRequest, AskReply, ControlRequest, InboxItem, Step } from "./agent/api.ts";
export type { ThreadEvent } from "./agent/events.ts";
export type { CreateRequest, KillReply, OutputReply, Thread } from "./api.ts";
export { type ClientOptions, SidecarClient } from "./client.ts";
export { AppError, type ErrorCode } from "./errors.ts";
export type { EventsQuery, HubEvent, Reset } from "./hub-events.ts";
export type { InputReply, InputRequest } from "./input-api.ts";
export {
  continueThread,
  type SpawnMode,
  type SpawnRequest,
  spawn,
  ThreadError,
  ThreadHandle,
  type TurnResult,
} from "./thread-handle.ts";

/** Puts together all that the sidecar answers over HTTP: the API, and the pages and tools beside it. */
import type { RequestListener } from "node:http";
import express, { type Request } from "express";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import type { Attachments } from "../agents/attachments.ts";
import type { People } from "../callers/people.ts";
import type { TokenCheck } from "../callers/token.ts";
import type { Console } from "../console/routes.ts";
import type { Voice } from "../mcp/voice.ts";
import { Api, type ApiHandlers } from "./api.ts";
import { expressRouteOf } from "./exchange.ts";
import { answerError } from "./failures.ts";
import { Guard, RequestLog, type WrongTokens } from "./guard.ts";
import { type AgentServices, agentHandlers, askHandlers, controlHandlers } from "./handlers/agents.ts";
import { attachmentHandlers } from "./handlers/attachments.ts";
import { type BrowserServices, browserHandlers } from "./handlers/browsers.ts";
import { type ChannelServices, channelHandlers } from "./handlers/channels.ts";
import { type ConversationServices, conversationHandlers } from "./handlers/conversations.ts";
import { type DirectiveServices, directiveHandlers } from "./handlers/directives.ts";
import { type EngineServices, engineHandlers } from "./handlers/engines.ts";
import { type InputServices, inputHandlers } from "./handlers/inputs.ts";
import { type JobServices, jobHandlers } from "./handlers/jobs.ts";
import { type LedgerServices, ledgerHandlers } from "./handlers/ledger.ts";
import { type LogServices, logHandlers } from "./handlers/logs.ts";
import { type MemoryServices, memoryHandlers } from "./handlers/memory.ts";
import { type OutputServices, outputHandlers } from "./handlers/output.ts";
import { type PeopleServices, peopleHandlers } from "./handlers/people.ts";
import { type RoomServices, roomHandlers } from "./handlers/rooms.ts";
import { type SidecarServices, sidecarHandlers } from "./handlers/sidecar.ts";
import { type ThreadServices, threadHandlers } from "./handlers/threads.ts";
import { type VoiceServices, voiceHandlers } from "./handlers/voice.ts";
import { type McpRoutesOptions, mcpRoutes } from "./mcp-routes.ts";
import type { RefusalLog } from "./refusal-log.ts";

export type Services = ThreadServices &
  InputServices &
  OutputServices &
  AgentServices &
  LedgerServices &
  LogServices &
  BrowserServices &
  PeopleServices &
  ChannelServices &
  ConversationServices &
  DirectiveServices &
  EngineServices &
  JobServices &
  MemoryServices &
  VoiceServices &
  RoomServices &
  SidecarServices & { attachments: Attachments };

export interface AppOptions extends Services, McpRoutesOptions {
  checkToken: TokenCheck;
  checkRelayToken: TokenCheck;
  wrongTokens: WrongTokens;
  people: People;
  voice: Voice;
  refusalLog: RefusalLog;
  console: Console;
  log: Log;
}

export function createApp(options: AppOptions): RequestListener {
  const { homes, jobs, metrics, people, refusalLog, voice, log } = options;
  const guard = new Guard(options);
  const requestLog = new RequestLog(log, refusalLog);
  const api = new Api({ handlers: handlersOf(options), guard, homes, jobs, people, voice, log });
  const others = beside(options, guard);
  return (request, response) => {
    const { method = "" } = request;
    const match = api.find(request);
    let threadId: ThreadId | undefined;
    const routeName = () => match?.route.path ?? expressRouteOf(request as Partial<Request>);
    metrics.measureAnswer(method, response, routeName);
    requestLog.add(request, response, () => ({
      route: routeName(),
      threadId,
      isQuiet: match?.route.isRepeatable ?? method === "GET",
    }));
    if (!match) return others(request, response);
    response.statusCode = 400; // for the log and the metrics, if the body breaks off
    void api.answer(match, request, response, (id) => {
      threadId = id;
    });
  };
}

function handlersOf(services: Services): ApiHandlers {
  return {
    threads: threadHandlers(services),
    logs: logHandlers(services),
    browsers: browserHandlers(services),
    inputs: inputHandlers(services),
    output: outputHandlers(services),
    agents: agentHandlers(services),
    asks: askHandlers(services),
    controls: controlHandlers(services),
    attachments: attachmentHandlers(services.attachments),
    engines: engineHandlers(services),
    ledger: ledgerHandlers(services),
    people: peopleHandlers(services),
    channels: channelHandlers(services),
    conversations: conversationHandlers(services),
    directives: directiveHandlers(services),
    jobs: jobHandlers(services),
    memory: memoryHandlers(services),
    voice: voiceHandlers(services),
    rooms: roomHandlers(services),
    sidecar: sidecarHandlers(services),
  };
}

const NOT_RELAYS = "The relay's token is for the API alone: the console wants the sidecar's own, VM_TOKEN.";

/** Takes every request that is for no route of the API: the console's pages, its account, and agents' tools. */
function beside(options: AppOptions, guard: Guard): RequestListener {
  const { console, log } = options;
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use(console.pages);
  app.use(mcpRoutes(options));
  app.use(async (req, _res, next) => {
    const isLeaving = req.method === "DELETE" && req.path === "/console/session";
    const by =
      guard.find(req, isLeaving ? { access: "console", right: "none" } : undefined) ??
      (await guard.refuse(req));
    if (by === "cut") return;
    if (by.kind !== "owner" && by.kind !== "console") throw new AppError("forbidden", NOT_RELAYS);
    next();
  });
  app.use(console.account);
  app.use((req) => {
    throw new AppError("not_found", `There is no ${req.method} ${req.path} in this API.`);
  });
  app.use(answerError(log));
  return app;
}

/** The command line as a whole: its commands, their common options, and what is said when something fails. */
import { Command, CommanderError } from "commander";
import { cleanLine } from "../shared/clean-text.ts";
import { AppError, errorText } from "../shared/errors.ts";
import { VERSION } from "../shared/version.ts";
import type { Act } from "./command.ts";
import { addAcp } from "./commands/acp.ts";
import { addAnswer, addApprove, addAsks, addDeny } from "./commands/asks.ts";
import { addAttach } from "./commands/attach.ts";
import { addBackup } from "./commands/backup.ts";
import { addBranch } from "./commands/branch.ts";
import { addBrowser } from "./commands/browser.ts";
import { addChanges } from "./commands/changes.ts";
import { addChannel } from "./commands/channel.ts";
import { addControls } from "./commands/controls.ts";
import { addDirectives } from "./commands/directives.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEngines } from "./commands/engines.ts";
import { addEvents } from "./commands/events.ts";
import { addHere } from "./commands/here.ts";
import { addHook } from "./commands/hook.ts";
import { addInbox } from "./commands/inbox.ts";
import { addJob } from "./commands/job.ts";
import { addKill } from "./commands/kill.ts";
import { addLog } from "./commands/log.ts";
import { addLogs } from "./commands/logs.ts";
import { addLs } from "./commands/ls.ts";
import { addMain } from "./commands/main.ts";
import { addMemory } from "./commands/memory.ts";
import { addNew } from "./commands/new.ts";
import { addResize } from "./commands/resize.ts";
import { addRole } from "./commands/role.ts";
import { addRoom } from "./commands/room.ts";
import { addRules } from "./commands/rules.ts";
import { addRun } from "./commands/run.ts";
import { addScreen } from "./commands/screen.ts";
import { addSend } from "./commands/send.ts";
import { addService } from "./commands/service.ts";
import { addStatus } from "./commands/status.ts";
import { addSteps } from "./commands/steps.ts";
import { addTail } from "./commands/tail.ts";
import { addTake } from "./commands/take.ts";
import { addWait } from "./commands/wait.ts";
import { addWorktree } from "./commands/worktree.ts";
import { type CommonOptions, createContext, type Streams } from "./context.ts";
import { EXIT, EXIT_CODES_HELP, exitCodeOf } from "./exit-codes.ts";
import { CLI_KINDS, type CliKinds } from "./kinds/kinds.ts";
import { toJson } from "./output.ts";

const EXAMPLES = `Examples:
  threadmux new shop -- npm test          open a terminal in REPOS_DIR/shop; prints the thread's id
  threadmux ls                            what is open
  threadmux tail -f shop                  follow its output until it ends, and exit with its exit code
  threadmux send shop "y"                 type into it
  threadmux attach shop                   sit at it; C-b d leaves it running
  threadmux here -- npm test              run it in this directory, and go on with it from anywhere
  threadmux kill shop                     end it and everything that it started
  threadmux new --agent shop -- "fix CI"  start a coding agent
  threadmux inbox                         which agents need you, and for what
  threadmux approve 12                    allow what agent #12 asks for
  threadmux run --agent shop -- "why?"    print an agent's answer, and leave nothing open
  threadmux wait 12                       until its turn has ended
  threadmux engines                       which engines agents may have, and how to get them
  threadmux doctor                        what is wrong with the set-up, and what to type

A thread is named by its id, an agent also by its number (12 or '#12'), or by its title; the start of an id or title is
enough as long as that fits one thread; open ones go before ended ones.
--json prints one JSON document (tail -f: one a line); errors are then JSON on standard error too.

Settings come from flags, the environment, .env of the working directory, then those of \`service install\`:
  VM_URL      the sidecar (http://127.0.0.1:3001)
  VM_TOKEN    its token; without it, the one in STATE_DIR/token
  STATE_DIR   the sidecar's state folder (/data/threadmux; if that is missing, what ./.state-dir names)
  NO_COLOR    no colours`;

/** @returns the exit code; everything that went wrong has been said on standard error. */
export async function runCli(
  args: readonly string[],
  env: Record<string, string | undefined>,
  streams: Streams,
  workingDir: string,
  kinds: CliKinds = CLI_KINDS,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  const act: Act = async (command, work) => {
    const context = createContext(command.optsWithGlobals<CommonOptions>(), env, streams, workingDir);
    exitCode = await work(context);
  };
  const end = args.indexOf("--");
  const isJson = args.slice(0, end < 0 ? args.length : end).includes("--json");
  const program = createProgram(act, streams, isJson, kinds);
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok; // --help, --version
    if (error instanceof CommanderError && error.code === "commander.help" && !isJson) return EXIT.usage; // shown
    const said = error instanceof CommanderError ? toUsageError(error) : error;
    streams.stderr.write(`${describeError(said, isJson)}\n`);
    return exitCodeOf(said);
  }
}

function createProgram(act: Act, streams: Streams, isJson: boolean, kinds: CliKinds): Command {
  const program = new Command("threadmux")
    .description("Threads of a sidecar: terminals and coding agents that go on without you.")
    .version(VERSION, "-V, --version")
    .option("--url <address>", "the sidecar (VM_URL)")
    .option("--token-file <file>", "a file that holds its token (otherwise VM_TOKEN, then STATE_DIR/token)")
    .option("--state-dir <folder>", "the sidecar's state folder (STATE_DIR)")
    .option("--json", "machine readable output")
    .configureHelp({ showGlobalOptions: true, helpWidth: 100 })
    .configureOutput({
      writeOut: (text) => streams.stdout.write(text),
      // Only the help where no command is given: a program gets an error instead.
      writeErr: (text) => isJson || streams.stderr.write(text),
      outputError: () => undefined, // said where all errors are
    })
    .exitOverride()
    .showSuggestionAfterError()
    .addHelpText("after", `\n${EXAMPLES}\n\n${EXIT_CODES_HELP}`);
  addLs(program, act);
  addNew(program, act);
  addDirectives(program, act);
  addSend(program, act, kinds);
  addTail(program, act, kinds);
  addScreen(program, act);
  addAttach(program, act);
  addKill(program, act);
  addLog(program, act);
  addLogs(program, act);
  addBrowser(program, act);
  addResize(program, act);
  addStatus(program, act);
  addInbox(program, act);
  addAsks(program, act);
  addApprove(program, act);
  addDeny(program, act);
  addAnswer(program, act);
  addSteps(program, act);
  addBranch(program, act);
  addWorktree(program, act);
  addControls(program, act);
  addRules(program, act);
  addChanges(program, act);
  addChannel(program, act);
  addRole(program, act);
  addRoom(program, act);
  addMain(program, act);
  addRun(program, act);
  addHere(program, act);
  addTake(program, act);
  addWait(program, act, kinds);
  addEvents(program, act);
  addEngines(program, act);
  addAcp(program, act);
  addJob(program, act);
  addMemory(program, act);
  addHook(program, act);
  addDoctor(program, act);
  addBackup(program, act);
  addService(program, act);
  return program;
}

function toUsageError(error: CommanderError): AppError {
  if (error.code === "commander.help") {
    return new AppError("invalid_request", "command: missing; threadmux --help lists them", { cause: error });
  }
  const text = error.message.replace(/^error: /, "").replace(/(?<!\s)\s*\n\s*/g, " ");
  const hint = error.code === "commander.unknownOption" ? "; what belongs to the thread goes after --" : "";
  return new AppError("invalid_request", `${text}${hint}`, { cause: error });
}

function describeError(error: unknown, isJson: boolean): string {
  const text = cleanLine(errorText(error)).trim();
  if (isJson) return toJson({ error: text, code: error instanceof AppError ? error.code : "internal" });
  return `threadmux: ${text}`;
}

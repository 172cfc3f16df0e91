/** An open ask as a card: all of what is decided on, with nothing hidden in it, and the buttons that decide it. */
import type { AnswerRequest, AskReply } from "../../../../shared/agent/api.ts";
import { cleanLine, writeOutHidden } from "../../../../shared/clean-text.ts";
import { make, makeButton } from "../dom.ts";
import type { Request } from "./decision.ts";
import { cutTexts, longText } from "./long-text.ts";
import { renderMarkdown } from "./markdown.ts";
import { drawInput } from "./step-view.ts";

export interface CardOptions {
  ask: AskReply;
  onAnswer: (answer: AnswerRequest) => void;
}

type Permission = Extract<Request, { type: "permission_request" }>;
type Question = Extract<Request, { type: "elicitation_request" }>;

export function drawCard({ ask, onAnswer }: CardOptions): HTMLElement[] {
  const { request } = ask;
  return request.type === "permission_request"
    ? [...drawPermission(ask, request), drawOptions(request, onAnswer)]
    : [make("h3", "", ["The agent asks"]), drawQuestions(request, onAnswer)];
}

function drawPermission({ threadId, call }: AskReply, request: Permission): HTMLElement[] {
  const { plan, trust, limit, description = "", title } = request;
  if (plan !== undefined) return [make("h3", "", ["The agent has a plan"]), renderMarkdown(plan)];
  const head = [
    make("h3", "", [limit ? "The thread is at its limit" : "May the agent do this?"]),
    make("p", "what", [writeOutHidden(title.replace(/\s+/g, " "))]),
  ];
  if (limit) return [...head, make("p", "quiet", [description])];
  if (trust) return [...head, longText(description, { isOpen: true })];
  const said =
    description === "" || title.includes(description) ? [] : [make("p", "quiet", [cleanLine(description)])];
  const input = call ? call.rawInput : parsed(request.input);
  const cut = call ? cutTexts(threadId, call) : [];
  const warning =
    cut.length > 0
      ? [make("p", "warning", ["This is only a part: look at the whole before you decide."])]
      : [];
  return [...head, ...said, drawInput(input, true), ...warning, ...cut];
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input; // it was cut
  }
}

function drawOptions({ options, plan }: Permission, onAnswer: CardOptions["onAnswer"]): HTMLElement {
  const answer = (optionId: string, message?: string) =>
    onAnswer({ optionId, ...(message === undefined ? {} : { message }) });
  const row = make("div", "choices");
  for (const { optionId, name, kind } of options) {
    const isAllowing = kind === "allow_once" || kind === "allow_always";
    const style = kind === "allow_once" ? "primary" : isAllowing ? "" : "danger";
    row.append(makeButton(writeOutHidden(name), () => answer(optionId), style));
  }
  const refusal = options.find(({ kind }) => kind === "reject_once");
  if (refusal) row.append(...drawBecause(plan !== undefined, (why) => answer(refusal.optionId, why)));
  return row;
}

function drawBecause(isPlan: boolean, onRefuse: (why: string) => void): HTMLElement[] {
  const form = make("form", "because");
  const field = make("input");
  field.setAttribute("aria-label", isPlan ? "What is missing in the plan" : "Why not");
  field.placeholder = isPlan ? "What is missing" : "Why not, for the agent to know";
  field.maxLength = 4_000;
  const send = make("button", "danger", [isPlan ? "Send back" : "Deny"]);
  form.append(field, send);
  form.hidden = true;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim() !== "") onRefuse(field.value.trim());
  });
  const open = makeButton(isPlan ? "Keep planning, because…" : "Deny, because…", () => {
    form.hidden = !form.hidden;
    if (!form.hidden) field.focus();
  });
  return [open, form];
}

function drawQuestions({ questions, message }: Question, onAnswer: CardOptions["onAnswer"]): HTMLElement {
  const form = make("form", "questions");
  const reads = questions.map((question, at) => {
    const { element, read } = drawQuestion(question, at);
    form.append(element);
    return { question: question.question, read };
  });
  if (questions.length === 0) form.append(make("p", "", [writeOutHidden(message)]));
  const problem = make("p", "problem");
  problem.setAttribute("role", "alert");
  const send = make("button", "primary", ["Answer"]);
  const decline = makeButton("Don't answer", () => onAnswer({ action: "decline" }), "danger");
  form.append(problem, make("div", "choices", questions.length === 0 ? [decline] : [send, decline]));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = reads.map(({ question, read }) => [question, read()] as const);
    const answered = given.filter(([, answer]) => answer !== "");
    if (answered.length < given.length) problem.textContent = "Choose or write an answer to each question.";
    else onAnswer({ action: "accept", content: Object.fromEntries(answered) });
  });
  return form;
}

function drawQuestion(
  { question, options, multiSelect }: Question["questions"][number],
  at: number,
): { element: HTMLElement; read: () => string } {
  const element = make("fieldset", "", [make("legend", "", [writeOutHidden(question)])]);
  const boxes = options.map(({ label, description = "" }) => {
    const box = make("input");
    Object.assign(box, { type: multiSelect ? "checkbox" : "radio", name: `question-${at}` });
    const words = make("span", "", [make("strong", "", [writeOutHidden(label)])]);
    if (description !== "") words.append(make("span", "quiet", [` ${writeOutHidden(description)}`]));
    element.append(make("label", "choice", [box, words]));
    return { box, label };
  });
  const other = make("input", "other");
  other.placeholder = options.length === 0 ? "Your answer" : "Other…";
  other.setAttribute("aria-label", `${options.length === 0 ? "Answer" : "Another answer"} to: ${question}`);
  other.maxLength = 4_000;
  other.addEventListener("input", () => {
    if (!multiSelect && other.value !== "") for (const { box } of boxes) box.checked = false;
  });
  element.append(other);
  const read = () => {
    const chosen = boxes.filter(({ box }) => box.checked).map(({ label }) => label);
    const words = other.value.trim();
    if (words !== "" && !multiSelect) return words;
    return [...chosen, ...(words === "" ? [] : [words])].join(", ");
  };
  return { element, read };
}

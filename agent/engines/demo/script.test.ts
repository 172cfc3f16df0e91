import { expect, test } from "vitest";
import { nextRound, parseScripts, type Spoken } from "./script.ts";

const user = (text: string): Spoken => ({ role: "user", text });
const answer = (text = ""): Spoken => ({ role: "assistant", text });
const script = (...texts: string[]) => `do @@${JSON.stringify(texts.map((text) => ({ text })))} please`;
const call = { name: "Bash", input: { command: 'make [all] "x\\" }"' } };

test("each answer takes one round; scripts that come in mid-turn are said after the first", () => {
  const conversation = [user(script("one", "two"))];
  expect(nextRound(conversation)).toEqual({ text: "one" });
  conversation.push(answer("one"), user(script("three")));
  expect(nextRound(conversation)).toEqual({ text: "two" });
  conversation.push(answer("two"));
  expect(nextRound(conversation)).toEqual({ text: "three" });
  conversation.push(answer("three"));
  expect(nextRound(conversation)).toBeUndefined();
});

test("an interrupt ends what was scripted before it", () => {
  const conversation = [user(script("one", "two")), answer("on"), user("[Request interrupted by user]")];
  expect(nextRound(conversation)).toBeUndefined();
  expect(nextRound([...conversation, user(script("three"))])).toEqual({ text: "three" });
});

test("an answer that no model gave takes no round", () => {
  expect(nextRound([user(script("one")), answer("No response requested."), user("go on")])).toEqual({
    text: "one",
  });
});

const restarted = user(
  `The session was restarted; call them again:\n- Bash ${JSON.stringify(call.input)}\nThat is all.`,
);
const calling = user(`@@${JSON.stringify([{ tools: [call] }, { text: "made" }])}`);

test("calls that a restart asks for are made again, and only then the script goes on", () => {
  const conversation = [calling, answer(), restarted];
  expect(nextRound(conversation)).toEqual({ tools: [call] });
  expect(nextRound(conversation, { callsAgain: false })).toEqual({ text: "made" });
  expect(nextRound([...conversation, answer()])).toEqual({ text: "made" });
});

test("a call that a kill kept out of the conversation is made once, though it is asked for and scripted", () => {
  expect(nextRound([calling, restarted])).toEqual({ tools: [call] });
  expect(nextRound([calling, restarted, answer()])).toEqual({ text: "made" });
});

test("an error that is never mended ends with the next message", () => {
  const conversation = [user('@@[{"error":{"status":400}}]')];
  expect(nextRound(conversation)).toEqual({ error: { status: 400 } });
  expect(nextRound([...conversation, user(script("one"))])).toEqual({ text: "one" });
});

test("a script that is none is refused with its place and field", () => {
  expect(() => parseScripts('so @@[{"txt":"one"}]')).toThrow(/script at character 3: .*txt/s);
  expect(() => parseScripts("so @@[{")).toThrow(/script at character 3/);
});

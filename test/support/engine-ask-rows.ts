/** Tests of asks, for any engine that asks. */
import { expect } from "vitest";
import type { Row } from "./engine-row.ts";
import { until } from "./wait.ts";

export const ASK_ROWS: Readonly<Record<string, Row>> = {
  asks: {
    label: "asks before it acts",
    isDeclared: ({ asks = false }) => asks,
    tests: {
      "allowed, it runs; denied, it does not, and the model is told why": async (world) => {
        const { engine, sidecar } = world;
        const calls = ["one", "two"].map((name) => ({ tools: [engine.bash(`mkdir ${name}`)] }));
        await world.open("asks", "go", [...calls, { text: "Done." }]);
        const first = await world.ask("asks");
        expect(world.has("asks", "one")).toBe(false);
        await world.allow("asks", first);
        const second = await world.ask("asks", ({ requestId }) => requestId !== first.requestId);
        await sidecar.client.answerAsk("asks", second.requestId, {
          optionId: "no",
          message: "not that name",
        });
        await world.words("asks", 1);
        expect([world.has("asks", "one"), world.has("asks", "two")]).toEqual([true, false]);
        const told = [
          ...(await world.of("asks", "tool_call_update")),
          ...(await world.of("asks", "user_message")),
        ];
        expect(JSON.stringify(told)).toContain("not that name");
      },
      "an ask that is open when the engine is killed is answered once, and its call runs once": async (
        world,
      ) => {
        const { engine } = world;
        const rounds = [{ tools: [engine.bash("echo ran >> effects")] }, { text: "Done." }];
        await world.open("asks-kill", "go", rounds);
        const ask = await world.ask("asks-kill");
        world.killEngine("asks-kill");
        await until(
          "no process",
          async () => !(await world.sidecar.client.getThread("asks-kill")).processRunning,
        );
        await world.allow("asks-kill", ask);
        await world.words("asks-kill", 1);
        expect(world.read("asks-kill", "effects")).toBe("ran\n");
      },
    },
    refused: { agent: { permissionMode: "plan" }, field: "permissionMode" },
  },
  rules: {
    label: "keeps rules for a thread",
    isDeclared: ({ rules }) => rules,
    tests: {
      "what is allowed for the thread is not asked again, until it is taken back": async (world) => {
        const { engine, sidecar } = world;
        const mkdir = (name: string) => ({ tools: [engine.bash(`mkdir -p ${name}`)] });
        await world.open("rules", "go", [mkdir("a"), mkdir("a b"), { text: "Done." }]);
        await world.allow("rules", await world.ask("rules"), "thread");
        await world.words("rules", 1);
        expect([world.has("rules", "a"), world.has("rules", "b")]).toEqual([true, true]);
        const [rule = ""] = await sidecar.client.listRules("rules");
        await sidecar.client.controlAgent("rules", { control: "rules", withdraw: [rule] });
        await world.say("rules", "again", mkdir("c"), { text: "Again." });
        await world.allow("rules", await world.ask("rules"), "no");
        await world.words("rules", 2);
        expect(world.has("rules", "c")).toBe(false);
      },
    },
  },
  questions: {
    label: "asks questions",
    isDeclared: ({ questions }) => questions.length > 0,
    tests: {
      "a question is answered by an option or in words, or is not answered": async (world) => {
        const { engine, sidecar } = world;
        const asked = ["Which one?", "And where?", "And when?"].map((text) => ({
          tools: [engine.ask(text, "SQLite", "Postgres")],
        }));
        await world.open("questions", "go", [...asked, { text: "Thanks." }]);
        const seen: string[] = [];
        const answer = async (reply: Parameters<typeof sidecar.client.answerAsk>[2]) => {
          const ask = await world.ask("questions", ({ requestId }) => !seen.includes(requestId));
          seen.push(ask.requestId);
          expect(ask.request).toMatchObject({ questions: [{ options: [{ label: "SQLite" }, {}] }] });
          await sidecar.client.answerAsk("questions", ask.requestId, reply);
        };
        await answer({ action: "accept", content: { "Which one?": "Postgres" } });
        await answer({ action: "accept", content: { "And where?": "in the cellar" } });
        await answer({ action: "decline" });
        expect(await world.words("questions", 1)).toEqual(["Thanks."]);
        const results = JSON.stringify(await world.of("questions", "tool_call_update"));
        for (const words of ["Postgres", "in the cellar", "declined"]) expect(results).toContain(words);
        expect(await world.of("questions", "elicitation_response")).toMatchObject([
          { action: "accept" },
          { action: "accept" },
          { action: "decline" },
        ]);
      },
      "a question that is open when the engine is killed is answered once": async (world) => {
        const { engine, sidecar } = world;
        await world.open("questions-kill", "go", [
          { tools: [engine.ask("Which one?", "SQLite", "Postgres")] },
          { text: "Thanks." },
        ]);
        const { requestId } = await world.ask("questions-kill");
        world.killEngine("questions-kill");
        await until(
          "no process",
          async () => !(await sidecar.client.getThread("questions-kill")).processRunning,
        );
        await sidecar.client.answerAsk("questions-kill", requestId, {
          action: "accept",
          content: { "Which one?": "SQLite" },
        });
        expect(await world.words("questions-kill", 1)).toEqual(["Thanks."]);
        expect(JSON.stringify(await world.of("questions-kill", "tool_call_update"))).toContain("SQLite");
      },
    },
  },
};

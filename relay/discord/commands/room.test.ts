import { expect, test } from "vitest";
import { ROOM_PROTOCOLS } from "../../../shared/rooms/protocol.ts";
import { membersOf, room } from "./room.ts";

interface Option {
  name: string;
  options?: Option[];
  choices?: { name: string; value: string }[];
}

test("each protocol that is offered says who may write when, in no more than a phone's line", () => {
  const { options = [] } = room.definition as { options?: Option[] };
  const offered = options.flatMap((part) => part.options ?? []).filter(({ name }) => name === "protocol");
  expect(offered).toHaveLength(2);
  for (const { choices = [] } of offered) {
    expect(choices.map(({ value }) => value)).toEqual([...ROOM_PROTOCOLS]);
    for (const { name, value } of choices) {
      expect(name).toMatch(new RegExp(`^${value}: \\w+ \\w+`));
      expect(name.length).toBeLessThanOrEqual(40);
    }
  }
});

test("members are typed by number, name, directive, or by a title in quotes, as phones make them too", () => {
  expect(membersOf(' #12, as:reviewer "Tidy the shop",  “The other one” agent-1795936644 ')).toEqual([
    { threadId: "#12" },
    { directive: "reviewer" },
    { threadId: "Tidy the shop" },
    { threadId: "The other one" },
    { threadId: "agent-1795936644" },
  ]);
  expect(membersOf('it"s, "open')).toEqual([{ threadId: 'it"s' }, { threadId: '"open' }]);
  expect(membersOf(" ")).toEqual([]);
});

/** The buttons and lists below an ask. Pure. */

import type { EventOf } from "../../../shared/agent/events.ts";
import { writeOutLine } from "../../../shared/clean-text.ts";
import { because } from "../../actions/because.ts";
import { type Button, distinct, MAX_LABEL_UNITS } from "../../actions/frame/controls.ts";
import { permission } from "../../actions/permission.ts";
import { type QuestionControls, questionControls } from "../../actions/pick.ts";
import { show } from "../../actions/show.ts";
import type { Ask } from "./entries.ts";
import { clipEnd } from "./inline.ts";

/** Five rows of five. */
const MAX_BUTTONS = 25;

type Permission = EventOf<"permission_request">;

/**
 * None once it is decided: only open asks can be looked up.
 * @param isClipped adds *Show all*, before everything else.
 */
export function askControls({ request, requestId, response }: Ask, isClipped: boolean): QuestionControls {
  if (response) return { buttons: [], selects: [] };
  const showAll = isClipped ? show.buttons({ requestId }, "Show all", "primary") : [];
  if (request.type === "permission_request") {
    const buttons = distinct([...showAll, ...permissionButtons(request, requestId)]);
    return { buttons: buttons.slice(0, MAX_BUTTONS), selects: [] };
  }
  const { buttons, selects } = questionControls(request.questions, requestId, []);
  return { buttons: [...showAll, ...buttons], selects };
}

/** The words on the button of an option that has no name. */
const NAMES: Record<Permission["options"][number]["kind"], string> = {
  allow_once: "Allow once",
  allow_always: "Allow always",
  reject_once: "Deny",
  reject_always: "Deny always",
};

/** A refusal can be given a reason; a plan is sent back in words alone. */
function permissionButtons({ options, plan }: Permission, requestId: string): Button[] {
  return options.flatMap(({ optionId, name, kind }): Button[] => {
    const label = clipEnd(writeOutLine(name) || NAMES[kind], MAX_LABEL_UNITS);
    const press = (style: Button["style"]) => permission.buttons({ requestId, optionId }, label, style);
    const inWords = (words: string) => because.buttons({ requestId, optionId }, words, "danger");
    if (kind === "allow_once") return press("success");
    if (kind === "allow_always") return press("secondary");
    if (kind === "reject_always") return press("danger");
    if (plan !== undefined) return inWords(`${clipEnd(label, MAX_LABEL_UNITS - 1)}…`);
    return [...press("danger"), ...inWords(`${clipEnd(label, MAX_LABEL_UNITS - 10)}, because…`)];
  });
}

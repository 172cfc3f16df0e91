/** The routes of browsers, beside what they take and give. */
export { browsers } from "../protocol/browsers.ts";

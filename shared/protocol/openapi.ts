/** The API's description in OpenAPI 3.1, made from the zod schemas that the server parses with. */
import * as z from "zod";
import { errorReplySchema } from "../api.ts";
import { ERROR_STATUS } from "../errors.ts";
import { PERSON_HEADER } from "../principal.ts";
import { VERSION } from "../version.ts";
import { COMMON_ERRORS, type Example, type Route } from "./route.ts";
import { ROUTES } from "./routes.ts";

export function createOpenApi(): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of ROUTES) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method]: describeRoute(route) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "threadmux sidecar", version: VERSION },
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer" },
        person: {
          type: "apiKey",
          in: "header",
          name: PERSON_HEADER,
          description: "The Discord user in whose name the relay asks. Nobody else may send it.",
        },
      },
      schemas: { Error: toSchema(errorReplySchema, "output") },
    },
    security: [{ token: [] }, { token: [], person: [] }],
    paths,
  };
}

function describeRoute(route: Route): Record<string, unknown> {
  const { example = {} } = route;
  const isPublic = route.access === "anybody";
  const parameters = [
    ...[...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
      ...exampleOf(example.path, name),
    })),
    ...describeQuery(route.query, example),
  ];
  const codes = isPublic ? [] : [...route.errors, ...COMMON_ERRORS];
  const errors = codes.map((code) => [ERROR_STATUS[code], code] as const);
  return {
    summary: route.summary,
    ...(isPublic ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: true,
            content:
              typeof route.body === "string"
                ? { [route.body]: exampleOf({ body: example.body }, "body") }
                : {
                    "application/json": {
                      schema: toSchema(route.body, "input"),
                      ...exampleOf({ body: example.body }, "body"),
                    },
                  },
          },
        }
      : {}),
    responses: {
      [route.status]: { description: route.summary, ...describeReply(route) },
      ...Object.fromEntries(
        [...new Set(errors.map(([status]) => status))].map((status) => [
          status,
          {
            description: errors
              .filter(([s]) => s === status)
              .map(([, code]) => code)
              .join(", "),
            content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
          },
        ]),
      ),
    },
  };
}

function describeReply({ reply, otherType }: Route): Record<string, unknown> {
  if (reply === undefined) return {};
  if (typeof reply === "string")
    return { content: { [reply]: {}, ...(otherType !== undefined && { [otherType]: {} }) } };
  return { content: { "application/json": { schema: toSchema(reply, "output") } } };
}

function describeQuery(query: z.ZodType | undefined, example: Example): Record<string, unknown>[] {
  if (!query) return [];
  const { properties = {} } = toSchema(query, "input") as { properties?: Record<string, unknown> };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: false,
    schema,
    ...exampleOf(example.query, name),
  }));
}

function exampleOf(values: Readonly<Record<string, unknown>> = {}, name = ""): Record<string, unknown> {
  return values[name] === undefined ? {} : { example: values[name] };
}

function toSchema(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}

/** What a record holds under a name that others chose: `constructor` and the like are in every object. */
export function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The same record, but for that name. */
export function without<Value>(record: Readonly<Record<string, Value>>, name: string): Record<string, Value> {
  const { [name]: _, ...rest } = record;
  return rest;
}

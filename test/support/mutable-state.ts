/** What may change in each class of the house, counted with TypeScript's own parser and types. */
import { existsSync, readFileSync } from "node:fs";
import ts from "typescript";

/** A class, or a function or file whose inner functions change its variables: the same thing by another name. */
export interface Holder {
  path: string;
  name: string;
  /** What may change, by its path below the holder, such as `#state.isOpen`. */
  fields: string[];
}

const CHANGES_IN_PLACE =
  /^(push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|set|add|delete|clear)$/;
const COLLECTIONS = /^(Map|Set|Array|WeakMap|WeakSet)$/;

/**
 * Counted in a class are
 * - its fields that are not `readonly`,
 * - its collections that are changed in place, `readonly` or not,
 * - of its fields that are plain objects, what anybody writes to in them: one `#state` with thirty is thirty, and an
 *   object that several classes share counts in each. A field that holds another class counts as a field alone.
 *
 * @param files paths to their texts; what is not in it is read from the disk
 * @param isForeign whether an interface, by its path and name, describes another program's objects
 */
export function findHolders(
  paths: readonly string[],
  {
    files = new Map(),
    isForeign = () => false,
  }: {
    files?: ReadonlyMap<string, string>;
    isForeign?: (path: string, name: string) => boolean;
  } = {},
): Holder[] {
  const program = parse(paths, files);
  const checker = program.getTypeChecker();
  const sources = paths.flatMap((path) => program.getSourceFile(path) ?? []);
  const written = new Set(sources.flatMap((source) => writesIn(source, checker)));
  const state: State = { checker, written, isForeign };
  return sources.flatMap((source) => holdersIn(source, state));
}

interface State {
  checker: ts.TypeChecker;
  /** Declarations of properties that something writes to. */
  written: ReadonlySet<ts.Declaration>;
  isForeign: (path: string, name: string) => boolean;
}

/** Our own files alone, without the packages: their types do not matter here, and reading them takes long. */
function parse(paths: readonly string[], files: ReadonlyMap<string, string>): ts.Program {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    strict: true,
    noEmit: true,
    types: [],
    lib: ["lib.es2023.d.ts"],
  };
  const host = ts.createCompilerHost(options);
  host.readFile = (path) => files.get(path) ?? (existsSync(path) ? readFileSync(path, "utf8") : undefined);
  host.fileExists = (path) => files.has(path) || existsSync(path);
  host.resolveModuleNameLiterals = (names, from) =>
    names.map(({ text }) =>
      text.startsWith(".") ? ts.resolveModuleName(text, from, options, host) : { resolvedModule: undefined },
    );
  return ts.createProgram(paths, options, host);
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** What is assigned to, counted up or down, deleted. */
function targetOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const isAssignment = kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
    return isAssignment ? node.left : undefined;
  }
  if (ts.isPostfixUnaryExpression(node)) return node.operand;
  if (ts.isPrefixUnaryExpression(node)) {
    const isCount =
      node.operator === ts.SyntaxKind.PlusPlusToken || node.operator === ts.SyntaxKind.MinusMinusToken;
    return isCount ? node.operand : undefined;
  }
  return ts.isDeleteExpression(node) ? node.expression : undefined;
}

function writesIn(source: ts.SourceFile, checker: ts.TypeChecker): ts.Declaration[] {
  const written: ts.Declaration[] = [];
  const note = (target: ts.Expression): void => {
    if (ts.isElementAccessExpression(target)) note(target.expression);
    else if (ts.isPropertyAccessExpression(target) && !isInOwnConstructor(target)) {
      written.push(...(checker.getSymbolAtLocation(target.name)?.declarations ?? []));
    }
  };
  walk(source, (node) => {
    const target = targetOf(node);
    if (target && ts.isArrayLiteralExpression(target)) target.elements.forEach(note);
    else if (target) note(target);
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
    const { name, expression } = node.expression;
    if (!CHANGES_IN_PLACE.test(name.text) || !ts.isPropertyAccessExpression(expression)) return;
    const type = checker.getTypeAtLocation(expression).getSymbol()?.name ?? "";
    if (COLLECTIONS.test(type)) note(expression);
  });
  return written;
}

/** `this.x = …` in a constructor is the field's first value. */
function isInOwnConstructor(target: ts.PropertyAccessExpression): boolean {
  if (target.expression.kind !== ts.SyntaxKind.ThisKeyword) return false;
  const owner = ts.findAncestor(target, (node) => ts.isFunctionLike(node));
  return owner?.kind === ts.SyntaxKind.Constructor;
}

function holdersIn(source: ts.SourceFile, state: State): Holder[] {
  const holders: Holder[] = [];
  const path = source.fileName;
  walk(source, (node) => {
    if (ts.isClassLike(node)) {
      holders.push({ path, name: node.name?.text ?? "a class", fields: fieldsOf(node, state) });
    } else if (ts.isSourceFile(node) || ts.isFunctionLike(node)) {
      const name = ts.isSourceFile(node) ? "the file" : (node.name?.getText() ?? "a function");
      holders.push({ path, name, fields: sharedVariablesOf(node) });
    }
  });
  return holders.filter(({ fields }) => fields.length > 0);
}

function fieldsOf(node: ts.ClassLikeDeclaration, state: State): string[] {
  return node.members
    .filter(ts.isPropertyDeclaration)
    .filter((field) => (ts.getCombinedModifierFlags(field) & ts.ModifierFlags.Static) === 0)
    .flatMap((field) => {
      const name = field.name.getText();
      const isReadonly = (ts.getCombinedModifierFlags(field) & ts.ModifierFlags.Readonly) !== 0;
      const inner = writtenIn(state.checker.getTypeAtLocation(field), state, new Set());
      const own = !isReadonly || state.written.has(field) ? [name] : [];
      return [...own, ...inner.map((path) => `${name}.${path}`)];
    });
}

/** The properties of a plain object, and of the objects in it, that something writes to. */
function writtenIn(type: ts.Type, state: State, seen: Set<ts.Type>): string[] {
  if (seen.has(type)) return [];
  seen.add(type);
  if (type.isUnionOrIntersection()) return type.types.flatMap((part) => writtenIn(part, state, seen));
  const declaration = type.getSymbol()?.declarations?.[0];
  if (!declaration || declaration.getSourceFile().isDeclarationFile) return [];
  if (ts.isInterfaceDeclaration(declaration)) {
    if (state.isForeign(declaration.getSourceFile().fileName, declaration.name.text)) return [];
  } else if (!ts.isTypeLiteralNode(declaration) && !ts.isObjectLiteralExpression(declaration)) return [];
  return type.getProperties().flatMap((property) => {
    const place = property.declarations?.[0];
    if (!place) return [];
    const inner = writtenIn(state.checker.getTypeOfSymbolAtLocation(property, place), state, seen);
    return [
      ...(state.written.has(place) ? [property.name] : []),
      ...inner.map((path) => `${property.name}.${path}`),
    ];
  });
}

/** Variables of a function or file that functions inside it assign to; by their names, so a shadow counts too. */
function sharedVariablesOf(owner: ts.Node): string[] {
  const own = new Set<string>();
  const assigned = new Set<string>();
  const look = (node: ts.Node, isInner: boolean): void => {
    if (!isInner && ts.isVariableDeclarationList(node) && (node.flags & ts.NodeFlags.Let) !== 0) {
      for (const { name } of node.declarations) if (ts.isIdentifier(name)) own.add(name.text);
    }
    const target = targetOf(node);
    if (isInner && target && ts.isIdentifier(target)) assigned.add(target.text);
    ts.forEachChild(node, (child) => look(child, isInner || ts.isFunctionLike(child)));
  };
  ts.forEachChild(owner, (child) => look(child, ts.isFunctionLike(child)));
  return [...own].filter((name) => assigned.has(name));
}

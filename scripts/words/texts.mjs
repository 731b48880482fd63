// Lists the texts of a source file that people read: comments, strings and declared names.
import { SyntaxKind } from 'typescript/unstable/ast';

const literalKinds = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.JsxText,
]);
const declarationKinds = new Set([
  SyntaxKind.VariableDeclaration,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ClassDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.MethodSignature,
  SyntaxKind.PropertySignature,
  SyntaxKind.PropertyDeclaration,
  SyntaxKind.Parameter,
]);
/** Examples of the HTTP contract are data of callers. */
const exampleProperties = new Set(['example', 'examples']);

/** Comments and texts as `{ position, text }`, names as `{ position, name }`. */
export function readFile(file) {
  const names = [];
  const literals = [];
  const visit = (node) => {
    if (declarationKinds.has(node.kind) && node.name?.kind === SyntaxKind.Identifier)
      names.push({ position: node.name.getStart(file), name: node.name.text });
    // A renamed binding is a name of ours, another one is the property's.
    if (node.kind === SyntaxKind.BindingElement && node.propertyName && node.name.kind === SyntaxKind.Identifier)
      names.push({ position: node.name.getStart(file), name: node.name.text });
    if (literalKinds.has(node.kind)) literals.push(node);
    node.forEachChild((child) => void visit(child));
  };
  visit(file);
  return { comments: readComments(file, literals), texts: readTexts(file, literals), names };
}

function readTexts(file, literals) {
  const texts = literals.filter((node) => node.kind !== SyntaxKind.RegularExpressionLiteral && /\s/.test(node.text) && !isExample(node));
  return texts.map((node) => ({ position: node.getStart(file), text: node.text }));
}

function isExample(node) {
  for (let { parent } = node; parent; parent = parent.parent)
    if (parent.kind === SyntaxKind.PropertyAssignment) return exampleProperties.has(parent.name.text);
  return false;
}

/** Comments of several lines become one text, a run of line comments too, so that sentences are whole. */
function readComments(file, literals) {
  let code = file.text;
  for (const node of literals) {
    const start = node.getStart(file);
    code = code.slice(0, start) + code.slice(start, node.end).replace(/[^\n]/g, '_') + code.slice(node.end);
  }
  return [...code.matchAll(/\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/[^\n]*\n?)+|\/\/[^\n]*/gm)].map(({ index, 0: raw }) => ({
    position: index,
    text: raw.replace(/^[ \t]*(\/\*\*?|\*\/|\/\/|\*(?!\/))[ \t]?/gm, blank).replace(/\*\/$/, blank),
  }));
}

/** As many blanks, so that positions stay. */
const blank = (marker) => ' '.repeat(marker.length);

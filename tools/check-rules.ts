/** Checks the house rules: sizes, first lines, names, unfinished work, and words that tie the project to one place. */
import type { CheckResult, Finding } from './finding.ts'
import type { ProjectFiles } from './project-files.ts'
import { nodesOf, parseSource, type Source, type SyntaxNode } from './source.ts'

const linesMax = 600
/** Generated: it grows with the interface, and nobody has to read it whole. */
const ofAnyLength = 'packages/client/src/wire.ts'
const linesMedianMax = 120
const linesP90Max = 350
const functionLinesMax = 70

/**
 * Functions allowed to be longer, as `path#line count`, with the reason. The list only shrinks: an entry that is no
 * longer needed, or allows more lines than the function has, is itself a finding.
 */
const longFunctions: ReadonlyMap<string, { readonly lines: number; readonly reason: string }> = new Map([])

/** Words for a module without a subject. */
const emptyNames = /^(utils?|helpers?|common|managers?|services?)$/

/** What ties a file to one machine, one place or one registry; spelled so that this file does not contain it. */
const foreignWords: readonly [RegExp, string][] = [
  [/\.\.\/shared\b/, 'names a folder outside the project'],
  [/(?<![\w.~-])\/(work|home|Users|root)\/[\w.]/, 'names a path of one machine'],
  [/\bregistry\.(npmjs|yarnpkg|npmmirror)\b/, 'names a registry host'],
]

/** Routes and parameters of URLs, of which the engine knows nothing: they are the server's. */
const routes = /["'`\s(]\/v1\b|\?(dryRun|cascade|allowLoss|explain)=/
const engineSource = /^packages\/engine\/src\//

/** The one file that makes failed assertions: elsewhere `assert` and `unreachable` do, by whose class they are known. */
const assertions = 'packages/engine/src/errors.ts'

const packageSource = /^packages\/[^/]+\/src\/.*\.(ts|tsx|mts)$/
const code = /\.(ts|tsx|mts|mjs|js)$/

export function checkRules(files: ProjectFiles, allowed = longFunctions): CheckResult {
  const findings: Finding[] = []
  const sizes: number[] = []
  const longest = new Map<string, number>()
  for (const [file, text] of files) {
    findings.push(...nameFindings(file), ...foreignFindings(file, text), ...routeFindings(file, text))
    if (!code.test(file)) continue
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
    if (lines > linesMax && file !== ofAnyLength)
      findings.push({ file, message: `${lines} lines: at most ${linesMax}` })
    if (packageSource.test(file)) sizes.push(lines)
    if (!/^(#!.*\n)?\/\*\*\s+(\* )?[^\s*]/.test(text)) {
      findings.push({ file, line: 1, message: 'begin with /** what this file is responsible for */' })
    }
    const source = parseSource(file, text)
    findings.push(...todoFindings(file, source), ...anyFindings(file, source), ...assertionFindings(file, source))
    for (const [name, length] of functionLengths(file, source)) {
      longest.set(name, Math.max(length.lines, longest.get(name) ?? 0))
      const limit = allowed.get(name)?.lines ?? functionLinesMax
      if (length.lines > limit) {
        findings.push({ file, line: length.line, message: `${name} has ${length.lines} lines: at most ${limit}` })
      }
    }
  }
  for (const [name, { lines }] of allowed) {
    const now = longest.get(name) ?? 0
    const message =
      lines <= functionLinesMax ? `remove the exception ${name}` : `lower the exception ${name} to ${now} lines`
    if (now < lines || lines <= functionLinesMax) findings.push({ file: 'tools/check-rules.ts', message })
  }
  findings.push(...spreadFindings(sizes))
  const most = Math.max(0, ...longest.values())
  return {
    findings,
    summary: `${sizes.length} source files: median ${quantile(sizes, 0.5)}, p90 ${quantile(sizes, 0.9)}, most ${quantile(sizes, 1)} lines; longest function ${most}`,
  }
}

function nameFindings(file: string): Finding[] {
  if (!/^(packages|tools|bench)\//.test(file)) return []
  const empty = file.split(/[/.-]/).find((word) => emptyNames.test(word))
  return empty === undefined ? [] : [{ file, message: `"${empty}" names no subject: say what it is about` }]
}

function foreignFindings(file: string, text: string): Finding[] {
  // npm writes the lock file; its own check looks for addresses there.
  if (file === 'package-lock.json') return []
  return text
    .split('\n')
    .flatMap((content, index) =>
      foreignWords.filter(([word]) => word.test(content)).map(([, message]) => ({ file, line: index + 1, message })),
    )
}

function routeFindings(file: string, text: string): Finding[] {
  if (!engineSource.test(file)) return []
  return text.split('\n').flatMap((content, index) => {
    return routes.test(content) ? [{ file, line: index + 1, message: 'names a route: the engine knows no HTTP' }] : []
  })
}

function todoFindings(file: string, source: Source): Finding[] {
  return source.comments
    .filter(({ value }) => /\b(TODO|FIXME|XXX)\b(?!\s*\(?#\d)/.test(value))
    .map(({ start }) => ({ file, line: source.lineOf(start), message: 'unfinished work needs an issue number: (#12)' }))
}

function anyFindings(file: string, source: Source): Finding[] {
  return [...nodesOf(source.program)]
    .filter(({ type }) => type === 'TSAnyKeyword')
    .map(({ start }) => ({ file, line: source.lineOf(start), message: 'no `any`: name the type, or take `unknown`' }))
}

/** Whoever throws another error with the words of a failed assertion hides it from those who look for its class. */
function assertionFindings(file: string, source: Source): Finding[] {
  if (!packageSource.test(file) || file === assertions) return []
  return [...nodesOf(source.program)]
    .filter((node) => isNewAssertionFailed(node) || /^assertion failed/i.test(textOf(node)))
    .map(({ start }) => ({ file, line: source.lineOf(start), message: 'use assert or unreachable of errors.ts' }))
}

function isNewAssertionFailed({ type, callee }: SyntaxNode): boolean {
  return type === 'NewExpression' && (callee as { name?: unknown }).name === 'AssertionFailed'
}

/** Of a string, or of a piece of a template; empty for other nodes. */
function textOf({ type, value }: SyntaxNode): string {
  if (type === 'Literal' && typeof value === 'string') return value
  return type === 'TemplateElement' ? String((value as { raw?: unknown }).raw) : ''
}

/** The lines of each function that has a body, its signature included, as `path#name`. */
function functionLengths(file: string, source: Source): [string, { line: number; lines: number }][] {
  // A suite of tests is a list, not a function that must be understood at once.
  if (/\/test\//.test(file)) return []
  const lengths: [string, { line: number; lines: number }][] = []
  let name = 'function'
  for (const node of nodesOf(source.program)) {
    name = nameGiven(node) ?? name
    const isFunction = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)
    if (!isFunction || !node.body) continue
    const line = source.lineOf(node.start)
    lengths.push([`${file}#${name}`, { line, lines: source.lineOf(node.end - 1) - line + 1 }])
  }
  return lengths
}

/** The name that a declaration, a method or a property gives to the function it holds. */
function nameGiven(node: SyntaxNode): string | undefined {
  const named = (node.id ?? node.key) as { name?: unknown } | null | undefined
  return typeof named?.name === 'string' ? named.name : undefined
}

function spreadFindings(sizes: readonly number[]): Finding[] {
  const findings: Finding[] = []
  const median = quantile(sizes, 0.5)
  const p90 = quantile(sizes, 0.9)
  const file = 'packages/*/src'
  if (median > linesMedianMax)
    findings.push({ file, message: `the median is ${median} lines: at most ${linesMedianMax}` })
  if (p90 > linesP90Max) findings.push({ file, message: `the ninth decile is ${p90} lines: at most ${linesP90Max}` })
  return findings
}

function quantile(sizes: readonly number[], part: number): number {
  const sorted = [...sizes].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

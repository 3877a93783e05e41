/** Checks that what the documents point at is there: files, whether linked or named, headings, and npm scripts. */
import { posix } from 'node:path'
import type { CheckResult, Finding } from './finding.ts'
import type { ProjectFiles } from './project-files.ts'

/** npm's own commands for which a script of the same name need not be written `npm run …`. */
const shorthand = new Set(['start', 'test'])

export function checkDocs(files: ProjectFiles): CheckResult {
  const scripts = new Set(Object.keys((JSON.parse(files.get('package.json') ?? '{}') as Manifest).scripts ?? {}))
  const findings: Finding[] = []
  const paths = sourcePaths(files)
  let links = 0
  let named = 0
  for (const [file, text] of files) {
    if (!file.endsWith('.md')) continue
    let fenced = false
    for (const [index, content] of text.split('\n').entries()) {
      if (/^\s*(```|~~~)/.test(content)) fenced = !fenced
      const report = (message: string) => findings.push({ file, line: index + 1, message })
      for (const [, script = ''] of content.matchAll(/\bnpm (?:run )?(start|test|(?<=run )[\w:-]+)/g)) {
        if (!scripts.has(script)) report(`there is no npm script ${script}`)
        else if (!shorthand.has(script) && !content.includes(`npm run ${script}`)) report(`write npm run ${script}`)
      }
      if (fenced) continue
      for (const [, path = ''] of tellsPast.test(file) ? [] : content.matchAll(sourcePath)) {
        if (path.endsWith('/') && !tellsOfSources.test(file)) continue
        named++
        if (!paths.some((known) => isPartOf(path, known))) report(`there is no ${path}`)
      }
      for (const [, target = ''] of content.replace(/`[^`]*`/g, '').matchAll(/\]\(<?([^)\s>]+)>?[^)]*\)/g)) {
        links++
        const broken = brokenLink(files, file, target)
        if (broken !== undefined) report(broken)
      }
    }
  }
  return { findings, summary: `${links} links, ${named} paths` }
}

/** What was, and may be gone. */
const tellsPast = /^(CHANGELOG\.md|docs\/decisions\/)/

/** Elsewhere, folders are those of stores and configurations. */
const tellsOfSources = /^(ARCHITECTURE|CONTRIBUTING|docs\/where-to-add)\.md$|\/src\/(.*\/)?README\.md$/

/** A source file, or a folder, in the words of a document: `store/store.ts`, `types/`. */
const sourcePath = /`([\w.-]+(?:\/[\w.-]+)*\.ts|(?:[\w.-]+\/)+)`/g

/** Of all files: as documents may begin them, with the package or without. */
function sourcePaths(files: ProjectFiles): string[] {
  return [...files.keys()].flatMap((path) => [`/${path}`, `/${path.replace(/^packages\/(\w+)\/src\//, '$1/')}`])
}

function isPartOf(path: string, known: string): boolean {
  return path.endsWith('/') ? known.includes(`/${path}`) : known.endsWith(`/${path}`)
}

interface Manifest {
  readonly scripts?: Record<string, string>
}

function brokenLink(files: ProjectFiles, file: string, target: string): string | undefined {
  // Addresses of the web are not looked up: a check must not depend on a network.
  if (/^[a-z][a-z+.-]*:/i.test(target)) return undefined
  const [path = '', heading] = decodeURI(target).split('#')
  const linked = path === '' ? file : posix.normalize(posix.join(posix.dirname(file), path)).replace(/\/$/, '')
  const isFolder = linked === '.' || [...files.keys()].some((name) => name.startsWith(`${linked}/`))
  if (!files.has(linked) && !isFolder) return `${target} leads to no file of the project`
  if (heading && linked.endsWith('.md') && !headingsOf(files.get(linked) ?? '').has(heading)) {
    return `${target} leads to no heading of ${linked}`
  }
  return undefined
}

/** The anchors that a Markdown viewer gives to the headings of a document. */
function headingsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, title = ''] of text.matchAll(/^#+ +(.*?) *#*$/gm)) {
    const plain = title.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '')
    const anchor = plain.trim().replace(/\s/g, '-')
    let unique = anchor
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`
    anchors.add(unique)
  }
  return anchors
}

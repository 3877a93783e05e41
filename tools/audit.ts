/**
 * `npm run audit`: known vulnerabilities of what a server runs. Fails for one that is not answered in SECURITY.md; where the registry gives no
 * advisories, as a mirror may not, it says so and fails nothing: whoever releases looks where they are given.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

interface Report {
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly severity: string; readonly via: readonly (string | { readonly url?: string })[] }>
  >
  readonly message?: string
  readonly error?: { readonly summary?: string }
}

const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  encoding: 'utf8',
  shell: process.platform === 'win32',
})
if (error !== undefined) throw error
const report = reportOf(stdout)
if (report?.vulnerabilities === undefined) {
  const reason = report?.message ?? report?.error?.summary ?? 'no answer'
  process.stdout.write(`Not audited: the registry gives no advisories (${reason}).\n`)
} else {
  const answered = readFileSync(new URL('../SECURITY.md', import.meta.url), 'utf8')
  const open = Object.entries(report.vulnerabilities).flatMap(([name, { severity, via }]) => {
    const urls = via.flatMap((one) => (typeof one === 'string' || one.url === undefined ? [] : [one.url]))
    return urls.filter((url) => !answered.includes(url)).map((url) => `${name} (${severity}): ${url}`)
  })
  for (const finding of open) process.stdout.write(`${finding}\n`)
  process.stdout.write(`${open.length} known vulnerabilities that SECURITY.md does not answer.\n`)
  if (open.length > 0) process.exitCode = 1
}

function reportOf(text: string): Report | undefined {
  try {
    return JSON.parse(text) as Report
  } catch {
    return undefined
  }
}

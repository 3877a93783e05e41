/** `npm run check`: every check of the project, one after the other, all of them even when one fails. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { checkContract } from './check-contract.ts'
import { checkDocs } from './check-docs.ts'
import { checkImports } from './check-imports.ts'
import { checkLock } from './check-lock.ts'
import { checkRules } from './check-rules.ts'
import { checkWords } from './check-words.ts'
import { type CheckResult, findingText } from './finding.ts'
import { type ProjectFiles, readProjectFiles } from './project-files.ts'

type Check = (files: ProjectFiles) => CheckResult | Promise<CheckResult>

const root = join(import.meta.dirname, '..')

/** In the order of a developer's interest; `npm run check -- imports rules` runs some. */
const checks: Readonly<Record<string, Check>> = {
  types: command('typescript/bin/tsc', '-b', '--pretty', String(process.stdout.isTTY ?? false)),
  style: command('@biomejs/biome/bin/biome', 'ci', '--error-on-warnings', '--max-diagnostics=50', '--colors=off'),
  'dead-code': command('knip/bin/knip.js', '--no-progress', '--treat-config-hints-as-errors'),
  imports: checkImports,
  rules: checkRules,
  words: checkWords,
  generated: afterBuild,
  contract: checkContract,
  docs: checkDocs,
  lock: checkLock,
}

/** A tool from node_modules; what it prints is its findings. */
function command(script: string, ...parameters: string[]): Check {
  return () => {
    const path = join(root, 'node_modules', script)
    const result = spawnSync(process.execPath, [path, ...parameters], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    })
    if (result.status === 0) return { findings: [], summary: '' }
    const output = `${result.stdout}${result.stderr}`.trimEnd()
    return { findings: [{ file: script, message: `found:\n${output}` }], summary: '' }
  }
}

/** What is generated follows from the built packages, which the check of types builds: before that there may be none. */
async function afterBuild(files: ProjectFiles): Promise<CheckResult> {
  try {
    const { checkGenerated } = await import('./generated-files.ts')
    return checkGenerated(files)
  } catch (error) {
    return { findings: [{ file: 'tools/generated-files.ts', message: `failed: ${String(error)}` }], summary: '' }
  }
}

const chosen = process.argv.slice(2)
if (chosen.includes('--help') || chosen.includes('-h')) {
  console.log(`npm run check -- [check …]   runs all checks, or some of: ${Object.keys(checks).join(', ')}`)
  process.exit(0)
}
const unknown = chosen.find((name) => !(name in checks))
if (unknown !== undefined) {
  console.error(`There is no check "${unknown}": ${Object.keys(checks).join(', ')}`)
  process.exit(2)
}
const files = readProjectFiles(root)
for (const [name, check] of Object.entries(checks)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const start = performance.now()
  const { findings, summary } = await check(files)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`${findings.length === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(10)} ${seconds} s  ${summary}`)
  for (const finding of findings) console.log(`  ${findingText(finding)}`)
  if (findings.length > 0) process.exitCode = 1
}

/** A vitest reporter that ends the run with the plain line `N passed, N failed`, which any runner can read, and before it what was not tested. */
import { writeSync } from 'node:fs'
import type { Reporter, TestModule, Vitest } from 'vitest/node'

const counts = { passed: 0, failed: 0 }
let run: Vitest | undefined

export const countReporter: Reporter = {
  // At exit, so that nothing follows it; and a run that ends badly without a failed test is not told as a good one.
  onInit(vitest) {
    run = vitest
    process.on('exit', (code) => {
      const failed = code !== 0 && counts.failed === 0 ? 1 : counts.failed
      writeSync(1, `${counts.passed} passed, ${failed} failed\n`)
      // Whoever else has something to do at the end may have ended the run as a good one.
      if (failed > 0) process.exitCode = 1
    })
  },
  onTestRunEnd(modules, errors) {
    Object.assign(counts, countTests(modules))
    counts.failed += errors.length
    tellFlaky(modules)
    const missing = run?.getRootProject().getProvidedContext().postgresMissing
    if (!missing) return
    writeSync(2, `\n${missing}\n`)
    // Where nobody reads along, a run that leaves out a store must not pass for a whole one.
    if (process.env.CI) counts.failed++
  },
}

/** Tests that have failed and then passed: the closing count does not tell them from others. */
function tellFlaky(modules: readonly Pick<TestModule, 'children' | 'moduleId'>[]): void {
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      if (test.diagnostic()?.flaky)
        writeSync(2, `FLAKY (passed when run again): ${module.moduleId} > ${test.fullName}\n`)
    }
  }
}

/** Tests by their outcome; a file that could not be loaded, and a failed hook of a suite, count as one failure each. */
function countTests(modules: readonly Pick<TestModule, 'children' | 'errors'>[]): typeof counts {
  const sum = { passed: 0, failed: 0 }
  for (const module of modules) {
    sum.failed += module.errors().length
    for (const suite of module.children.allSuites()) sum.failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') sum.passed++
      if (state === 'failed') sum.failed++
    }
  }
  return sum
}

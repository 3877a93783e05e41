/** How the tests run: all packages and the tools in one run, closed by the plain count of `tools/count-reporter.ts`. */
import { defineConfig } from 'vitest/config'
import { countReporter } from './tools/count-reporter.ts'

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', '{tools,demo}/test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', countReporter],
  },
})

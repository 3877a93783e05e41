/**
 * How the tests run: all packages and the tools in one run, closed by the plain count of `tools/count-reporter.ts`.
 * What users rely on, whatever the store is, is tested once more on PostgreSQL.
 */
import { defineConfig } from 'vitest/config'
import { countReporter } from './tools/count-reporter.ts'

export default defineConfig({
  test: {
    globalSetup: ['tools/postgres-for-tests.ts'],
    runner: './tools/test-runner.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', countReporter],
    projects: [
      {
        extends: true,
        test: { name: 'embedded', include: ['packages/*/test/**/*.test.ts', '{tools,demo}/test/**/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          // Where data is kept in directories, the tests of places and of configuration have nothing to say of PostgreSQL.
          exclude: ['**/2-root.test.ts', '**/8-configuration.test.ts', '**/query/parse/**'],
          include: [
            'packages/server/test/contract/*.test.ts',
            'packages/engine/test/{engine,evolution,model,query,receipts}/**/*.test.ts',
          ],
          // Properties get a tenth of their runs: a database beyond the process takes its time.
          env: { ASHLAR_TEST_STORE: 'postgres', ASHLAR_RUNS: String(Number(process.env.ASHLAR_RUNS ?? 1) / 10) },
        },
      },
    ],
  },
})

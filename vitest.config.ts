/**
 * How the tests run: all packages and the tools in one run, closed by the plain count of `tools/count-reporter.ts`. `npm test` runs the project
 * `embedded`, which takes a few minutes; `npm run test:all`, and `.ci/run`, run all of them.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { countReporter } from './tools/count-reporter.ts'

/** What users rely on, whatever the store is. It is tested once more on PostgreSQL. */
const ofAnyStore = [
  'packages/server/test/contract/*.test.ts',
  'packages/engine/test/{access,ddl,engine,model,query,receipts}/**/*.test.ts',
  'packages/engine/test/changes/{change-feed,live-query,replay-log,seen-changes}.test.ts',
  'packages/engine/test/threads/statement-threads.test.ts',
]

/** Tests of these folders that would only repeat on PostgreSQL what the first project has shown. */
const notOfTheStore = [
  // Where data is kept in directories, the tests of places, of configuration and of damage have nothing to say of PostgreSQL;
  // what happens without the database is tested on PostgreSQL anyway.
  '**/{1.4-damage,1.4-unavailable,2-root,8-configuration}.test.ts',
  // Connections, paths, headers, browsers, bodies that are still arriving, and mistakes in them: decided before the store is asked.
  '**/{1-general,1.4-connections,1.4-schema-places,1.5-arrival,1.7-browsers}.test.ts',
  // The security database is in memory, or has tests on PostgreSQL of its own.
  '**/contract/9.*.test.ts',
  '**/query/parse/**',
  '**/access/access-policy.test.ts',
  // Expressions of values that have been read; those stay whose comparisons and nulls become ranges of an index.
  '**/expressions/{arithmetic,bits,cast,date,logical,math,regular-expression,text}.test.ts',
  // What is counted on the store in memory, and what has a store of its own, of which reads are of several moments.
  '**/ddl/{alter-costs,request-properties}.test.ts',
  '**/{model,query}/preconditions.test.ts',
  '**/model/skew.test.ts',
  // On stores of their own, or on none.
  '**/contract/{1.5-rates,2.2-backup,2.2-bulk-readers,2.2-slow-queries,2.4-followers,2.5-webhooks,4.4-hub-cost}.test.ts',
  '**/access/{element-origins,intersect-grants,kept-accesses,restricted-catalog}.test.ts',
  '**/query/execute/{shared-targets,target-objects,value-codec}.test.ts',
  '**/query/{expressions/match-results,operators/groups-by-values,operators/refused-numbers}.test.ts',
  // What a statement does with what it has read: in memory, on disk, in turns, and edge by edge. That it reads the same is shown by others.
  '**/contract/1.5-disk.test.ts',
  '**/query/{memory,expressions/long-values,operators/beyond-memory}.test.ts',
  '**/query/match/{bounded-walks,far-side}.test.ts',
  // The text of a statement, and the form of its reply.
  '**/query/{classify,dialect}.test.ts',
  '**/statements/use-format.test.ts',
]

/**
 * On Node 20, V8 optimizes a function after ten times as much work as usual: hundreds of files run each function a little and in many ways, and a quarter of
 * the CPU time of `npm test` was for optimizing, and most of it was not made up for. Later versions have a cheaper compiler in between, and not this flag.
 */
const flagsOfV8 = process.versions.node.startsWith('20.') ? ['--interrupt-budget=675840'] : []

/** Properties get a quarter of the runs that `.ci/run --long` asks for, and processes that are killed a third of the rounds. */
const runsOfProperties = process.env.ASHLAR_RUNS ?? '0.25'
const runsOfProcesses = process.env.ASHLAR_RUNS ?? '0.3'

/** Properties get a tenth of their runs: a database beyond the process takes its time. */
const onPostgres = { ASHLAR_TEST_STORE: 'postgres', ASHLAR_RUNS: String(Number(process.env.ASHLAR_RUNS ?? 1) / 10) }

/**
 * Tests that start, and kill, many processes: commands, workers, several servers on one store, stores on several nodes; and those of queries on the most data.
 * They take longer than all others together. Their files share processes of the runner, as those of `sharing` do.
 */
const slow = [
  'packages/{ashlar,cli}/test/executable/*.test.ts',
  'packages/server/test/executable/!(readme).test.ts',
  'packages/client/test/executable/*.test.ts',
  'packages/server/test/hostile/door-fuzz.test.ts',
  'packages/server/test/contract/{1.4-unavailable,1.5-disk,2.2-bulk-readers,6.1-builds,6.2-background,8-configuration}.test.ts',
  'packages/engine/test/changes/log-processes.test.ts',
  'packages/engine/test/query/{access/skip-scan,access/touched-rows,match/bounded-walks,match/far-side,operators/beyond-memory}.test.ts',
  'packages/engine/test/work/steady-growth.test.ts',
  'packages/engine/test/store/{consistency,distributed,lmdb-compaction,lmdb-processes,node-down,one-node,postgres-failures,processes,sequence-processes}.test.ts',
]

/**
 * Tests whose files share a process: what they import is loaded once a core instead of once a file, which takes longer than most of them.
 * They keep no state in modules and mock none; what they leave behind, their helpers and the runner end.
 */
const sharing = [
  'packages/engine/test/!(backup|damage|store)/**/*.test.ts',
  'packages/engine/test/store/{entry-checksum,every-bit,lmdb,lmdb-internals,lmdb-layout,memory,open-store,placement,verified-pages}.test.ts',
  'packages/engine/test/store/{read-transaction,scan-side-by-side,unordered-set}.test.ts',
  'packages/engine/test/store/{verify-data-file,wrappers}.test.ts',
  'packages/server/test/{contract,hostile,unit}/*.test.ts',
  'packages/server/test/executable/readme.test.ts',
  'packages/cli/test/unit/*.test.ts',
  'packages/client/test/*.test.ts',
  'bench/test/{figures,reply-reader}.test.ts',
  'tools/test/{check-*,consistency-*,lock-file,set-up-state}.test.ts',
]

/**
 * Where nobody reads along, a test that fails is run a second time, since a machine that stands still for a minute fails tests of many processes; the
 * last lines of the run name it all the same, and it is to be mended. A property that has failed has: another seed would only hide what it found.
 */
const retryInCi = process.env.CI ? { retry: { count: 1, condition: /^(?!Property (failed|interrupted))/ } } : {}

/** These only rise. They are half a point below what was found, since properties take other ways each time. */
const thresholds = {
  'packages/client/src/**': { lines: 100, branches: 96 },
  'packages/engine/src/**': { lines: 96, branches: 90 },
  'packages/server/src/{*.ts,!(workers)/**}': { lines: 92, branches: 83.9 },
}

/** Statement threads run the program that this run has built from the sources (`tools/children-for-tests.ts`), not the one that was compiled last. */
const threadProgramOfRun = {
  name: 'thread-program-of-run',
  load: (id: string) => (/\/src\/(threads\/program|thread-program)\.ts$/.test(id) ? threadProgramSource : undefined),
}
const threadProgramSource = `
  import { pathToFileURL } from 'node:url'
  export const threadProgram = pathToFileURL(process.env.ASHLAR_TEST_THREAD_PROGRAM)
`

export default defineConfig({
  plugins: [threadProgramOfRun],
  test: {
    // Many tests wait for other processes, for a database, or for what is written to reach the disk: other files have the cores meanwhile.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    execArgv: flagsOfV8,
    // Runs after the first, as those of `.ci/run` and of single files, take what vite has made of each unchanged file.
    experimental: { fsModuleCache: true },
    globalSetup: ['tools/postgres-for-tests.ts', 'tools/folder-for-tests.ts', 'tools/children-for-tests.ts'],
    runner: './tools/test-runner.ts',
    // Bounds for what hangs: they must do where others use the machine as well.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Vitest gives up after a second, which a busy machine may need for one look.
    expect: { poll: { timeout: 60_000 } },
    ...retryInCi,
    reporters: ['default', countReporter],
    // `npm run coverage`, and `.ci/run --long`: what runs within the tests' own processes. What the processes run that they start is not seen: commands and
    // workers, whose tests are in packages/{cli,server}/test/executable, have no figure.
    coverage: {
      include: ['packages/*/src/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
      reportsDirectory: 'node_modules/.cache/coverage',
      thresholds,
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'embedded',
          isolate: false,
          include: sharing,
          exclude: slow,
          env: { ASHLAR_RUNS: runsOfProperties },
        },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          env: { ASHLAR_RUNS: runsOfProcesses },
          include: ['packages/*/test/**/*.test.ts', '{tools,bench}/test/**/*.test.ts'],
          exclude: [...sharing, ...slow],
        },
      },
      {
        extends: true,
        test: { name: 'slow', isolate: false, include: slow, env: { ASHLAR_RUNS: runsOfProcesses } },
      },
      {
        extends: true,
        test: { name: 'postgres', isolate: false, include: ofAnyStore, exclude: notOfTheStore, env: onPostgres },
      },
    ],
  },
})

/** `npm run fuzz [-- <requests> [minutes]]`: arbitrary requests to every route, 1,000,000 of them, or as many as there is time for. */
import { spawnSync } from 'node:child_process'

const [requests = '1000000', minutes = 'any'] = process.argv.slice(2)
const { status } = spawnSync('npx', ['vitest', 'run', '--project=slow', 'packages/server/test/hostile/door-fuzz'], {
  env: { ...process.env, ASHLAR_FUZZ: requests, ASHLAR_FUZZ_MINUTES: minutes },
  stdio: 'inherit',
  shell: process.platform === 'win32',
})
process.exitCode = status ?? 1

#!/usr/bin/env node
/** `ashlar`: starts the built program. npm links a command when it installs, which in a clone is before anything is built: this file is always there. */
const { existsSync } = require('node:fs')
const { join } = require('node:path')

const program = join(__dirname, '../dist/bin/ashlar.cjs')
if (existsSync(program)) {
  require(program)
} else {
  process.stderr.write('ashlar: The program is not built yet: `npm run build` builds it.\n')
  process.exitCode = 1
}

#!/usr/bin/env node
/** `ashlar`: starts the program of the package, or, in a clone, that of the command line. */
const { existsSync } = require('node:fs')
const { join } = require('node:path')

const program = join(__dirname, '../lib/bin/ashlar.cjs')
require(existsSync(program) ? program : '../../cli/bin/ashlar.cjs')

/** Completes package-lock.json with the platform packages that the registry in use left out; run it after `npm install`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LockFile, missingPlatformPackages, withPlatformPackages } from './lock-file.ts'

const path = join(import.meta.dirname, '..', 'package-lock.json')
const lock = JSON.parse(readFileSync(path, 'utf8')) as LockFile
const missing = missingPlatformPackages(lock).size
if (missing > 0) writeFileSync(path, `${JSON.stringify(withPlatformPackages(lock), null, 2)}\n`)
console.log(missing > 0 ? `${missing} platform packages added to package-lock.json` : 'package-lock.json is complete')

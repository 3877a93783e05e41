/** The audit log where its name is that of a pipe or a device. */
import { execFileSync } from 'node:child_process'
import { constants, mkdtempSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { AuditFile } from '../../src/audit/audit-file.ts'

it('is written to a pipe, whose mode stays', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-audit-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'pipe')
  execFileSync('mkfifo', ['-m', '644', file])
  // Somebody has to read it, or nobody can open it to write.
  const reader = await open(file, constants.O_RDWR | constants.O_NONBLOCK)
  const audit = new AuditFile({ file, fileBytesMax: 1_000_000, filesMax: 2 }, pino({ level: 'silent' }))
  await audit.start()
  audit.append('{"a":1}')
  await audit.flush()
  const { buffer, bytesRead } = await reader.read(Buffer.alloc(100), 0, 100)
  expect(buffer.toString('utf8', 0, bytesRead)).toBe('{"a":1}\n')
  expect(statSync(file).mode & 0o777).toBe(0o644)
  await audit.close()
  await reader.close()
})

/** Tests that what tests leave behind is named and removed at the end of their run, and what a killed run left by the next one. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { TestProject } from 'vitest/node'
import { setup, teardown } from '../folder-for-tests.ts'
import { markOf } from '../process-mark.ts'

const root = { isRootProject: () => true } as TestProject
let parent: string

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'ashlar-test-'))
  vi.stubEnv('TMPDIR', parent)
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  rmSync(parent, { recursive: true, force: true })
})

function told(): string[] {
  const lines: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
  return lines
}

it('temporary files of a run are in a folder of its own, which is removed with what was left', () => {
  const lines = told()
  setup(root)
  expect(dirname(tmpdir())).toBe(parent)
  writeFileSync(join(tmpdir(), 'ashlar-store.1'), '')
  mkdirSync(join(tmpdir(), 'tsx-0'))
  teardown()
  expect(tmpdir()).toBe(parent)
  expect(readdirSync(parent)).toEqual([])
  expect(lines).toEqual(['\nTests left temporary files behind: ashlar-store.1\n'])
})

it('where nothing is left, nothing is told', () => {
  const lines = told()
  setup(root)
  teardown()
  expect(readdirSync(parent)).toEqual([])
  expect(lines).toEqual([])
})

it('the folder of a run that is gone is removed by the next one; that of one that is alive stays', () => {
  const alive = `ashlar-tests.${markOf(process.ppid)}.1`
  const gone = `ashlar-tests.${markOf(process.pid).replace(/^(\d+)-\w+/, '$1-1')}.1`
  for (const name of [alive, gone]) mkdirSync(join(parent, name), { mode: 0o700 })
  setup(root)
  expect(existsSync(join(parent, gone))).toBe(false)
  teardown()
  expect(readdirSync(parent)).toEqual([alive])
})

it('only the root project makes one', () => {
  setup({ isRootProject: () => false } as TestProject)
  expect(tmpdir()).toBe(parent)
  expect(readdirSync(parent)).toEqual([])
})

/**
 * A disk that fails for a moment, and a process that is killed at the end of a commit, by a library that is loaded before that of the system. Without a C compiler, nothing is
 * tested here.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { rule } from '../contract/rule.ts'
import { type Started, start, temporaryDirectory } from './process.ts'

/**
 * While the file `fail` is in the working directory, its first word says what becomes of writes to the data file: those that end a commit (`meta`), or those of pages (`page`), fail with EIO;
 * or the first one that ends a commit is done, and the process killed (`kill`).
 */
const library = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/uio.h>
static int told(int fd, const char *what) {
  char link[64], path[4096], word[8] = {0};
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 8 || memcmp(path + n - 8, "data.mdb", 8)) return 0;
  int file = open("fail", O_RDONLY);
  if (file < 0) return 0;
  if (read(file, word, 7) < 4) word[0] = 0;
  close(file);
  return !strncmp(word, what, 4);
}
#define WRITE(name, type, count, offset) \\
  ssize_t name(int fd, type bytes, count n, offset at) { \\
    static ssize_t (*next)(int, type, count, offset); \\
    if (!next) next = dlsym(RTLD_NEXT, #name); \\
    if (told(fd, at < 8192 ? "meta" : "page")) { errno = EIO; return -1; } \\
    int kills = at < 8192 && told(fd, "kill"); \\
    ssize_t done = next(fd, bytes, n, at); \\
    if (kills && unlink("fail") == 0) kill(getpid(), SIGKILL); \\
    return done; \\
  }
WRITE(pwrite, const void *, size_t, off_t)
WRITE(pwrite64, const void *, size_t, off64_t)
WRITE(pwritev, const struct iovec *, int, off_t)
WRITE(pwritev64, const struct iovec *, int, off64_t)
`

const compiler = process.env.CC ?? 'cc'
const canCompile = process.platform === 'linux' && spawnSync(compiler, ['--version']).status === 0
const patience = { timeout: 30_000, interval: 20 }

interface Failing {
  readonly server: Started
  readonly fail: string
  post(): Promise<{ readonly status: number; readonly type: string | undefined; readonly message: string }>
}

function startFailing(workers: number): Failing {
  const directory = temporaryDirectory()
  const preload = join(directory, 'fail.so')
  writeFileSync(join(directory, 'fail.c'), library)
  const compiled = spawnSync(compiler, ['-shared', '-fPIC', '-o', preload, join(directory, 'fail.c'), '-ldl'])
  expect(compiled.status, String(compiled.stderr)).toBe(0)
  const server = start(['--port', '0', '--workers', String(workers)], { LD_PRELOAD: preload }, directory)
  return {
    server,
    fail: join(directory, 'fail'),
    async post() {
      const headers = { 'content-type': 'application/json', connection: 'close' }
      const body = JSON.stringify({ class: 'T', attributes: { v: 1 } })
      const reply = await fetch(`${await server.url}/v1/object`, { method: 'POST', headers, body })
      const { type, message = '' } = (await reply.json()) as { type?: string; message?: string }
      return { status: reply.status, type, message }
    },
  }
}

async function withClass({ server }: Failing): Promise<void> {
  const schema = [
    {
      className: 'T',
      isReferenceable: true,
      attributes: [{ attributeName: 'v', logicalType: 'integer' }],
    },
  ]
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${await server.url}/v1/schema`, { method: 'PUT', headers, body: JSON.stringify(schema) })
  expect(reply.ok).toBe(true)
}

rule(
  '8.1.31',
  'a process whose store is unusable, since the end of a commit could not be written, is replaced',
  async () => {
    if (!canCompile) return
    const failing = startFailing(2)
    await withClass(failing)
    const { server, fail, post } = failing
    expect((await post()).status).toBe(201)
    writeFileSync(fail, 'meta')
    const failed = await post()
    rmSync(fail)
    expect(failed).toMatchObject({ status: 503, message: expect.stringContaining('i/o error (EIO') })
    const statuses = new Set<string>()
    const good = async (): Promise<boolean> => {
      const { status, type = '' } = await post().catch((error: unknown) => ({ status: 0, type: String(error) }))
      if (status !== 201 && status !== 0) statuses.add(`${status} ${type}`)
      return status === 201
    }
    await expect.poll(() => server.log().match(/"a worker serves"/g)?.length, patience).toBe(3)
    await expect.poll(async () => (await good()) && (await good()) && (await good()), patience).toBe(true)
    expect(
      [...statuses].filter((status) => !/^503 (StoreUnavailable|OutcomeUnknown|ShuttingDown)$/.test(status)),
    ).toEqual([])
    const log = server.log()
    expect(log).toMatch(/"level":60,.*failed to commit.*This process ends/)
    expect(log).toContain('"code":1,"signal":null,"msg":"a worker ended; another takes its place"')
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  },
)

rule('8.1.31', 'without a process that replaces it, it ends with exit code 1', async () => {
  if (!canCompile) return
  const failing = startFailing(0)
  await withClass(failing)
  const { server, fail, post } = failing
  writeFileSync(fail, 'meta')
  expect((await post()).status).toBe(503)
  expect(existsSync(fail)).toBe(true)
  expect(await server.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('This process ends') })
})

rule('1.4.17', 'a page that the disk does not take is told as an error of the disk, and nothing more', async () => {
  if (!canCompile) return
  const failing = startFailing(1)
  await withClass(failing)
  const { server, fail, post } = failing
  writeFileSync(fail, 'page')
  const { status, type, message } = await post()
  rmSync(fail)
  expect([status, type]).toEqual([503, 'StoreUnavailable'])
  expect(message).toMatch(/failed to commit: i\/o error \(EIO; is the disk full, or does it fail\?\)\./)
  expect((await post()).status).toBe(201)
  server.child.kill('SIGTERM')
  await server.ended
})

rule(
  '1.4.20',
  'what a worker that was killed has committed is shown by the first read after the connection was lost',
  async () => {
    if (!canCompile) return
    const failing = startFailing(3)
    await withClass(failing)
    const { server, fail, post } = failing
    expect((await post()).status).toBe(201)
    const url = await server.url
    const headers = { 'content-type': 'application/json', connection: 'close' }
    let lost = 0
    for (let round = 10; round < 16; round++) {
      writeFileSync(fail, 'kill')
      const body = JSON.stringify({ attributes: { v: round } })
      const reply = await fetch(`${url}/v1/object/3-3-1-1`, { method: 'PUT', headers, body }).catch(() => undefined)
      if (reply === undefined) lost++
      const read = await fetch(`${url}/v1/object/3-3-1-1`, { headers })
      expect([read.status, ((await read.json()) as { v?: number }).v]).toEqual([200, round])
      // A worker may have been killed by a commit of its own, and the change was made by another.
      rmSync(fail, { force: true })
      await expect.poll(() => server.log().match(/"a worker serves"/g)?.length, patience).toBe(3 + round - 9)
    }
    expect(lost).toBeGreaterThan(0)
    server.child.kill('SIGTERM')
    await server.ended
  },
)

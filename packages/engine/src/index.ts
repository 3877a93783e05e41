/** The engine's only entry point. */

export type { AccessAction, AccessPolicy, Grant, GrantScope, RuledAction } from './access/access-policy.ts'
export {
  accessActions,
  grantText,
  isUnrestricted,
  policyId,
  readAccessGrants,
  readAccessPolicy,
} from './access/access-policy.ts'
export type { GrantProblem } from './access/grant-problems.ts'
export { grantProblemsIn } from './access/grant-problems-in.ts'
export { intersectGrants } from './access/intersect-grants.ts'
export { checkRule } from './access/object-rules.ts'
export { type Backups, listBackups } from './backup/backup-directory.ts'
export { type BackupsCheck, checkBackups } from './backup/check-backups.ts'
export type { Manifest } from './backup/manifest.ts'
export {
  planRestore,
  type RestoreReport,
  type RestoreStep,
  restoreBackup,
} from './backup/restore-backup.ts'
export { type BackupIntervals, backUpIfDue, keepLogFor } from './backup/scheduled-backup.ts'
export { type BackupReport, backUpStore } from './backup/write-backup.ts'
export { type MemoryHolder, MemoryPool } from './budget/memory-pool.ts'
export type { BulkCommand, BulkTarget } from './bulk/bulk-command.ts'
export type { BulkCounts, BulkSettings, LineLoad, LineOutcome } from './bulk/bulk-load.ts'
export { referredIn } from './bulk/named-objects.ts'
export type { CallerDatabase } from './caller-operations.ts'
export { type CancelSignal, delay } from './cancel-signal.ts'
export type { ChangesPage, ChangesRequest, ReportedChange } from './changes/change-feed.ts'
export type { RowEvent, RowEventName } from './changes/followed-rows.ts'
export type { ChangeFollowing } from './changes/following.ts'
export type { LiveQuery, LiveStep } from './changes/live-query.ts'
export type { LogSize } from './changes/log-removal.ts'
export {
  type DeadLetter,
  type DeadLetterSummary,
  type DueDelivery,
  type Subscription,
  SubscriptionLost,
  type SubscriptionState,
} from './changes/subscription.ts'
export type { ChangeLogSetting } from './changes/switch-change-log.ts'
export type { Database, TransactionStep } from './database-operations.ts'
export type { DetailedStatistics } from './ddl/detailed-statistics.ts'
export type { SchemaReport } from './ddl/schema-report.ts'
export type { UpgradeProgress } from './ddl/upgrade-objects.ts'
export { AshlarError, type ErrorDetail, type ErrorKind, type ErrorType, errorCatalogue } from './errors.ts'
export type { Export, ExportRequest } from './export/export-objects.ts'
export { type DatabaseCounts, FederatedDatabase, type OpenOptions, type Statistics } from './federated-database.ts'
export type { IndexRecord } from './indexes/index-record.ts'
export { accessGrantsMax, defaultEngineLimits, type EngineLimits, lineIdCharactersMax } from './limits.ts'
export { entityTagOf, type TagCondition } from './objects/condition.ts'
export type { DeletionReport } from './objects/deletion-report.ts'
export type { Dialect } from './query/language/dialect.ts'
export { withoutLiterals } from './query/parse/without-literals.ts'
export { planWithoutValues } from './query/plan-without-values.ts'
export type {
  ExplainRequest,
  QueryProgress,
  QueryReply,
  QueryRequest,
  QueryWatch,
  RowChunk,
  RowChunks,
  StatementSlice,
} from './query/query-request.ts'
export type { Effect } from './query/statements/statement-kind.ts'
export type { User } from './query/values/user.ts'
export type { RebuildOptions, RebuildSource } from './rebuild/rebuild.ts'
export { AlreadyDone, type Once } from './receipts/receipt.ts'
export type { RequestId } from './receipts/receipt-entry.ts'
export { JsonSource, noteText, noteTextOf, textOf } from './requests/json-source.ts'
export type { Attributes } from './requests/read-object-command.ts'
export type { AlterSettings } from './schema/commands.ts'
export { listOfNames, suggestNames } from './schema/names.ts'
export type { ClassRepresentation, NamespaceRepresentation } from './schema/representation.ts'
export { TemporarySpace } from './spill/temporary-space.ts'
export { compactStore } from './storage/compact-store.ts'
export { type CopyReport, copyStore } from './storage/copy-store.ts'
export { openStore } from './storage/open-store.ts'
export { caught, mapAwaitable } from './store/awaitable.ts'
export { type CommitCounts, groupSizes } from './store/commit-counts.ts'
export { FairQueues } from './store/fair-queues.ts'
export type { CompactionReport } from './store/lmdb/compact.ts'
export { onlyInMainThread } from './store/only-in-main-thread.ts'
export { PlaceRefused, type RefusalCause, refusalCause } from './store/place-refused.ts'
export { withoutCredentials } from './store/postgres/address.ts'
export { noteRest, readAnew, shareReads } from './store/reads-of-turn.ts'
export { Semaphore } from './store/semaphore.ts'
export type { Awaitable, Store, StoreCapabilities, StoreStats } from './store/store.ts'
export {
  awaitStart,
  inParts,
  mayBegin,
  noteArrival,
  noteRequest,
  openTimeSlice,
  type TimeSlice,
  yieldToNewWork,
} from './store/time-slice.ts'
export { type Placed, UnorderedSet } from './store/unordered-set.ts'
export { serveStatementThread, type ThreadContext } from './thread-program.ts'
export { receivedError, type SentError, sentError } from './threads/messages.ts'
export { type Isolation, isolationDefault, isolations } from './transaction/isolation.ts'
export { exactNumberOf } from './types/hidden-fraction.ts'
export { JsonFragment } from './types/json-text.ts'
export type { Oid } from './types/oid.ts'
export { valueChecker } from './types/value-checker.ts'
export { checkStore, type StoreCheck } from './verify/check-store.ts'
export type { VerifyReport } from './verify/verify.ts'
export type { EndSpan, SpanName, WorkSpans } from './work-spans.ts'
export type { ChangeListener, ChangeSet } from './write/change-set.ts'
export { StepFailure } from './write/deferred-checks.ts'

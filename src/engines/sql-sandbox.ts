import type { NestedField, Type } from '../iceberg/types.ts'

/** SQL that a user wrote, of which nothing is known. */
export interface UserSql {
  /** `query`: one SELECT; `expression`: a value computed from the columns of one row. */
  readonly kind: 'query' | 'expression'
  readonly text: string
  /** The only relations that it may read. */
  readonly relations: readonly string[]
}

/** Which columns an SQL text needs, as far as its syntax tells. */
export interface ColumnReferences {
  /** Each reference as its dotted parts, as written: relation, column and members of a struct. */
  readonly names: readonly (readonly string[])[]
  /** Whether it may need columns that it does not name: `*`, a natural join, a whole row, columns by position. */
  readonly all: boolean
}

/** A column of a relation or of a result. */
export interface QueryColumn {
  readonly name: string
  /** In the engine's own words. */
  readonly engineType: string
}

/** A result's column, and what it would be in a table; undefined: no table can hold it. */
export interface ResultColumn extends QueryColumn {
  readonly type: Type | undefined
}

/** A relation without its rows. */
export interface RelationShape {
  readonly name: string
  readonly columns: readonly QueryColumn[]
}

/**
 * Judges SQL of users before any of it meets a row. All refusals are `IcebergError` `INVALID_ARGUMENT` that say what is
 * wrong in words for its author; `DomainError` `RATE_LIMITED` and `ENGINE_BUSY` when too much is asked at once.
 */
export interface SqlSandbox {
  /**
   * Refuses everything but one SELECT (or one expression) over the given relations that calls only functions without a
   * view of files, network, settings or other tables. The text is then safe to stand in parentheses in a larger query.
   */
  check(sql: UserSql): Promise<void>
  /** The columns that a text needs. Refuses as {@link check} does. */
  references(sql: UserSql): Promise<ColumnReferences>
  /** The columns of a query's result, found without running it. The query must have been made of checked parts. */
  describe(relations: readonly RelationShape[], query: string): Promise<readonly ResultColumn[]>
  /** The same, in the name of a user: who asks for much waits, and does not keep others from being served. */
  forOwner(owner: string): SqlSandbox
  /** The columns of a table as a query reads them. */
  columnsOf(fields: readonly NestedField[]): readonly QueryColumn[]
  close(): Promise<void>
}

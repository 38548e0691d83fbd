import type { NestedField, Type } from '../iceberg/schema/types.ts'
import type { SqlQuery } from './sql-syntax.ts'

/** SQL that a user wrote, of which nothing is known. */
export interface UserSql {
  /** `query`: one SELECT; `expression`: a value computed from the columns of one row. */
  readonly kind: 'query' | 'expression'
  readonly text: string
  /** The only relations that it may read. */
  readonly relations: readonly string[]
  /** Names of parameters (`$name`) to which the service binds texts when the SQL runs; default: none. */
  readonly parameters?: readonly string[]
}

/** Which columns an SQL text needs, as far as its syntax tells. */
export interface ColumnReferences {
  /** Each reference as its dotted parts, as written: relation, column and members of a struct. */
  readonly names: readonly (readonly string[])[]
  /** Whether it may need columns that it does not name: `*`, a natural join, a whole row, columns by position. */
  readonly all: boolean
}

/** A table that a query names, and where. */
export interface NamedTable {
  /** The parts of its name, as written: catalog, schema and table, or fewer. */
  readonly levels: readonly string[]
  /** Where the name stands in the text, in UTF-16 units. */
  readonly start: number
  readonly end: number
  readonly hasAlias: boolean
}

/** A column of a relation or of a result. */
export interface QueryColumn {
  readonly name: string
  /** In the engine's own words. */
  readonly engineType: string
}

/** A column of a result with its Iceberg type; undefined when no Iceberg type fits. */
export interface ResultColumn extends QueryColumn {
  readonly type: Type | undefined
}

/** A relation without its rows. */
export interface RelationShape {
  readonly name: string
  readonly columns: readonly QueryColumn[]
}

/**
 * Checks SQL of users before it runs. Refusals are `IcebergError` `INVALID_ARGUMENT` with a message for the author of
 * the SQL; `DomainError` `RATE_LIMITED` and `ENGINE_BUSY` when there are too many requests at once.
 */
export interface SqlSandbox {
  /**
   * Refuses everything but one SELECT (or one expression) over the given relations that calls only functions without a
   * view of files, network, settings or other tables. The text is then safe to stand in parentheses in a larger query.
   */
  check(sql: UserSql): Promise<void>
  /** The columns that a text needs. Refuses as {@link check} does. */
  references(sql: UserSql): Promise<ColumnReferences>
  /**
   * The tables that a query names outside of its named queries (`WITH`), in the order of the text. Checks nothing else: check the
   * query before it runs.
   */
  tables(query: string): Promise<readonly NamedTable[]>
  /** What a text says, for a translation; an expression is the only item of a SELECT. Refuses as {@link check} does. */
  syntax(sql: UserSql): Promise<SqlQuery>
  /** The columns of a query's result, found without running it. The query must have been made of checked parts. */
  describe(relations: readonly RelationShape[], query: string): Promise<readonly ResultColumn[]>
  /** The same sandbox on behalf of a user, with a fair queue: many requests of one user do not delay others. */
  forOwner(owner: string): SqlSandbox
  /** The columns of a table as a query reads them. */
  columnsOf(fields: readonly NestedField[]): readonly QueryColumn[]
  close(): Promise<void>
}

package org.apache.spark.sql.execution.streaming.state

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode}

/** The query of one workload, built anew for each run. `first` and `second` are its sources: id, ts, v. */
class Queries(chosen: Chosen, run: Int, source: DataFrame, second: DataFrame, calls: String) {
  private val first = if (chosen.is("clocked")) source.withColumn("ts", current_timestamp()) else source
  private val how = chosen.text("how", "inner")
  private val mod = chosen.int("mod", 1000)
  private val delayed = chosen.get("delayWords").map(_.replace('_', ' ')).getOrElse(s"${chosen.delay} milliseconds")
  private val mode = chosen.text("mode", "append")

  /** Everything but functions in Python; `role` says how the function of operator `op` behaves. */
  def query(role: Int => Role): DataFrame = chosen.op match {
    case "fm" | "mg" => grouped(events, role(-1))
    case "fm_fm" => grouped(grouped(events, role(1)), role(0))
    case op if op.startsWith("fm_") => grouped(below(op.drop(3)), role(-1))
    case "agg" => windowed(events, chosen.text("window", "20 seconds"))
    case "agg_ts" => events.groupBy($("ts"), $("id")).agg(count(lit(1)).as("n"))
    case "agg_all" => events.agg(count(lit(1)).as("n"), max($("v")).as("most"))
    case "dedup_w" => events.select($("id"), window($("ts"), "15 seconds").as("w"), $("v")).dropDuplicates("id", "w")
    case "agg_notime" => events.groupBy($("id")).agg(count(lit(1)).as("n"), max($("ts")).as("newest"))
    case "sess" => events.groupBy(session, $("id")).agg(sum($("v")).as("total"))
    case "dedup_ts" => events.dropDuplicates("id", "ts")
    case "dedup_nots" => events.dropDuplicates("id", "v")
    case "dedup_nowm" => first.dropDuplicates("id", "v")
    case "ddw" => ThisSpark.dropDuplicatesWithinWatermark(events, "id")
    case op if op.startsWith("of_") => typed(op.drop(3))
    case "plan" => plan(Node.parse(chosen.text("plan", "one")), role)
    case "limit" => events.dropDuplicates("id", "ts").limit(chosen.int("limit", 20))
    case "join" => joined
    case "join_agg" => windowed(joined.select($("lid").as("id"), $("lts").as("ts"), $("lv").as("v")), "15 seconds")
    case "join_dedup" => joined.select("lid", "lts").dropDuplicates("lid", "lts")
    case "agg_agg" =>
      windowed(events, "10 seconds").groupBy(window($("window"), "30 seconds")).agg(sum($("n")).as("total"))
    case "agg_time" =>
      windowed(events, "10 seconds").groupBy(window(ThisSpark.windowTime($("window")), "30 seconds"), $("id"))
        .agg(sum($("n")).as("total"))
    case "dedup_agg" => windowed(events.dropDuplicates("id", "ts"), "15 seconds")
    case "sess_agg" =>
      events.groupBy(session, $("id")).agg(count(lit(1)).as("n"))
        .groupBy(window($("session_window"), "30 seconds")).agg(sum($("n")).as("total"))
  }

  private def plan(node: Node, role: Int => Role): DataFrame = stage(node, node.inputs.map(plan(_, role)), role(node.op))

  /** What a node of a plan makes of its inputs; those in Python are not here. */
  def stage(node: Node, inputs: Seq[DataFrame], role: Role): DataFrame = node.name match {
    case "one" => watermarked(first)
    case "second" => watermarked(second, late = true)
    case "two" => watermarked(first).union(watermarked(second, late = true))
    case "nowm" => first
    case "meta" => Stages.marked(second, chosen.delay)
    case "wm" => watermarked(inputs.head.select($("id"), expr("timestamp_micros(unix_micros(ts))").as("ts"), $("v")))
    case "u" => inputs.reduce(_ union _)
    case "twice" => // two columns of event time, the second of which lies behind
      val later = expr(s"ts - INTERVAL ${chosen.int("gap2", 40)} SECONDS")
      watermarked(watermarked(first).withColumn("ts2", later), "ts2").dropDuplicates("id", "ts", "ts2").drop("ts2")
    case "fm" => grouped(inputs.head, role)
    case "tws" => Stages.processed(inputs.head, chosen, run, node.op, f"$calls/variables/$run%02d-${node.op}")
    case "join" => of(joined(inputs.head, inputs(1), onFirst = false, onSecond = false))
    case "self" => of(joined(first, first, onFirst = true, onSecond = true))
    case op => below(op, inputs.head)
  }

  private def of(joined: DataFrame) = joined.select(
    coalesce($("lid"), $("rid")).as("id"), $(if (how == "right_outer") "rts" else "lts").as("ts"),
    coalesce($("lv"), $("rv")).as("v"))

  private def $(name: String) = col(name)

  /** `late`: of the second source, whose delay may be another. */
  private def watermarked(rows: DataFrame, column: String = "ts", late: Boolean = false) =
    rows.withWatermark(column, if (late) s"${chosen.long("delay2", chosen.delay)} milliseconds" else delayed)

  /** The source, or both in a union; without a watermark where none is wanted. */
  def events: DataFrame = {
    def one(rows: DataFrame, late: Boolean = false) =
      if (!chosen.is("wm", true)) rows
      else if (!chosen.is("beside")) watermarked(rows, late = late)
      else watermarked(rows.withColumn("at", expr(s"ts - INTERVAL ${chosen.int("gap2", 30)} SECONDS")), "at", late)
    if (chosen.is("two")) one(first).union(one(second, late = true)) else one(first)
  }

  private def windowed(rows: DataFrame, size: String) = {
    val slide = chosen.get("slide").map(_ + " seconds").getOrElse(size)
    val windows = rows.groupBy(window($("ts"), size, slide), $("id"))
    if (slide == size) windows.agg(count(lit(1)).as("n"), sum($("v")).as("total"))
    else windows.agg(count(lit(1)).as("n"), max($("v")).as("most"))
  }

  /** With `gaps` each row has a gap of its own, which may be 0 or negative. */
  private def session = expr(
    if (chosen.is("gaps")) "session_window(ts, concat(CAST(v % 7 * 6 - 6 AS STRING), ' seconds'))"
    else "session_window(ts, '12 seconds')")

  def below(op: String): DataFrame = below(op, events)

  /** The operator below one with a function: rows of id, ts, v. With `keep=false` ts loses its watermark. */
  private def below(op: String, events: => DataFrame): DataFrame = {
    val rows = op match {
      case "join" => of(joined)
      case "agg" =>
        events.groupBy(window($("ts"), "10 seconds"), $("id")).agg(count(lit(1)).as("v"))
          .select($("id"), (if (chosen.is("end")) $("window.end") else ThisSpark.windowTime($("window"))).as("ts"), $("v"))
      case "sess" =>
        events.groupBy(session, $("id")).agg(count(lit(1)).as("v"))
          .select($("id"), $("session_window.end").as("ts"), $("v"))
      case "dedup" => events.dropDuplicates("id", "ts")
      case "ddw" => ThisSpark.dropDuplicatesWithinWatermark(events, "id")
      case "none" => events
    }
    val time = if (chosen.is("keep", true)) $("ts") else expr("timestamp_micros(unix_micros(ts))").as("ts")
    rows.select(expr(s"CAST(id % $mod AS int)").as("id"), time, expr("CAST(v AS long)").as("v"))
  }

  private def joined: DataFrame = joined(first, second, chosen.is("wmLeft", true), chosen.is("wmRight", true))

  /** The join of two inputs, which get watermarks where told. */
  private def joined(first: DataFrame, second: DataFrame, onFirst: Boolean, onSecond: Boolean): DataFrame = {
    val condition = chosen.text("cond", "range")
    def side(rows: DataFrame, of: String, has: Boolean) = {
      val named = rows.select($("id").as(s"${of}id"), $("ts").as(s"${of}ts"), $("v").as(s"${of}v"))
      val before = if (condition == "copy") named.withColumn(s"${of}copy", $(s"${of}ts")) else named
      val watermark = if (has) watermarked(before, s"${of}ts", late = of == "r") else before
      condition match {
        case "copymeta" => watermark.withColumn(s"${of}copy", $(s"${of}ts")).drop(s"${of}ts")
        case "copylost" => watermark.withColumn(s"${of}copy", expr(s"timestamp_micros(unix_micros(${of}ts))"))
        case "window" => watermark.withColumn(s"${of}w", window($(s"${of}ts"), "20 seconds")).drop(s"${of}ts")
        case _ => watermark
      }
    }
    val left = side(first, "l", onFirst)
    val right = side(second, "r", onSecond)
    left.join(right, expr(condition match {
      case "range" => "lid = rid AND rts >= lts - INTERVAL 5 SECONDS AND rts <= lts + INTERVAL 20 SECONDS"
      case "forward" => "lid = rid AND rts >= lts AND rts <= lts + INTERVAL 20 SECONDS"
      case "two" => "lid = rid AND lv % 3 = rv % 3 AND rts >= lts AND rts <= lts + INTERVAL 10 SECONDS"
      case "one" => "lid = rid AND rts >= lts"
      case "value" => "lid = rid AND lv < rv AND rts >= lts - INTERVAL 5 SECONDS AND rts <= lts + INTERVAL 9 SECONDS"
      case "time" => "lid = rid AND lts = rts"
      case "window" => "lid = rid AND lw = rw"
      case "none" => "lid = rid"
      case copy => "lid = rid AND lcopy = rcopy"
    }), how)
  }

  /** An operator of which the keys are of type `typed` beside their time, if they have one, and the values `held`. */
  private def typed(op: String): DataFrame = {
    val rows = keyed(events)
    val time = window($("ts"), chosen.text("window", "20 seconds"))
    op match {
      case "agg" => rows.groupBy(time, $("k")).agg(count(lit(1)).as("n"), held)
      case "agg_notime" => rows.groupBy($("k")).agg(count(lit(1)).as("n"), held)
      case "agg_ts" => rows.groupBy($("k"), $("ts")).agg(count(lit(1)).as("n"), held)
      case "sess" => rows.groupBy(session, $("k")).agg(count(lit(1)).as("n"), held)
      case "dedup" => rows.dropDuplicates("k")
      case "dedup_ts" => rows.dropDuplicates("k", "ts")
      case "ddw" => ThisSpark.dropDuplicatesWithinWatermark(rows, "k")
      case "ddw_all" => ThisSpark.dropDuplicatesWithinWatermark(rows, "k", "id", "v")
      case "join" =>
        val (left, right) = (keyed(watermarked(first)), keyed(watermarked(second, late = true)))
        left.select($("k").as("lk"), $("ts").as("lts"), $("v").as("lv")).join(
          right.select($("k").as("rk"), $("ts").as("rts"), $("v").as("rv")),
          expr("lk = rk AND rts >= lts - INTERVAL 5 SECONDS AND rts <= lts + INTERVAL 20 SECONDS"), how)
    }
  }

  private def keyed(rows: DataFrame) = rows.withColumn("k", expr(chosen.text("typed", "") match {
    case "dec10" => "CAST(IF(id % 7 = 0, NULL, (id - 20) * 1.37) AS DECIMAL(10, 2))"
    case "dec38" => "CAST(IF(id % 7 = 0, NULL, (id - 20) * 12345678901234567.89BD) AS DECIMAL(38, 10))"
    case "bin" => "CAST(repeat(chr(65 + id % 26), id % 12) AS BINARY)"
    case "date" => "date_add(DATE'1969-12-20', id * 7)"
    case "flag" => "IF(id % 5 = 0, NULL, id % 2 = 0)"
    case "row" => "named_struct('a', IF(id % 3 = 0, NULL, id), 'b', named_struct('s', repeat('x', id % 9), 'd', id / 3))"
    case "arr" => "transform(sequence(0, id % 4), n -> IF(n = 2, NULL, CAST(id DIV 4 * n % 5 - 1 AS INT)))"
    case "rows" => "transform(sequence(0, id % 3), n -> named_struct('n', n, 's', repeat('y', id)))"
    case "months" => "make_ym_interval(0, id - 5)"
    case "span" => "make_dt_interval(0, 0, 0, id - 5)"
    case "null" => "IF(id % 3 > 0, NULL, CAST(id AS STRING))"
    case "none" => "CAST(NULL AS STRING)"
    case "ntz" => "CAST(timestamp_millis(id * 86399001L) AS TIMESTAMP_NTZ)"
    case "stamp" => "ts"
    case "day" => "CAST(ts AS DATE)"
    case "dbl" => "IF(id % 4 = 0, -0.0D, IF(id % 4 = 1, CAST('NaN' AS DOUBLE), CAST(id AS DOUBLE)))"
    case "time" => "CAST(concat('12:00:', lpad(CAST(id % 60 AS STRING), 2, '0')) AS TIME)"
    case "byte" => "CAST(id - 20 AS BYTE)"
    case collation => s"collate(concat(IF(v % 2 = 0, 'a', 'A'), id DIV 2, IF(v % 3 = 0, ' ', '')), '$collation')"
  }))

  private def held = expr(chosen.text("held", "sum") match {
    case "sum" => "sum(v)"
    case "list" => "collect_list(named_struct('v', v, 'ts', ts))"
    case "set" => "collect_set(v % 5)"
    case "share" => "percentile_approx(v, 0.5)"
    case "distinct" => "approx_count_distinct(v)"
    case "variant" => "first(parse_json(concat('{\"v\":', v, '}')))"
    case "map" => "first(map('v', v, 'id', id))"
    case "spread" => "stddev(v)"
    case "mean" => "avg(CAST(v AS DECIMAL(20, 4)))"
    case "best" => "max_by(named_struct('v', v, 's', repeat('z', id)), ts)"
    case "text" => "max(repeat('w', CAST(v AS INT)))"
    case "span" => "max(make_dt_interval(0, 0, 0, v))"
    case "collated" => "max(collate(concat('a', v), 'UTF8_LCASE'))"
  }).as("held")

  private def grouped(rows: DataFrame, role: Role): DataFrame =
    grouped(rows, role, Keys.kind(chosen.text("key", "long")))

  private def grouped[K](rows: DataFrame, role: Role, kind: KeyKind[K]): DataFrame = {
    val actor = new Actor(role, kind)
    val of = kind.of
    val timeout = role.timeout match {
      case "event" => GroupStateTimeout.EventTimeTimeout
      case "processing" => GroupStateTimeout.ProcessingTimeTimeout
      case "none" => GroupStateTimeout.NoTimeout
    }
    val output = if (mode == "append") OutputMode.Append() else OutputMode.Update()
    val (state, emitted) = (Encoders.product[Kept], Encoders.product[Ev])
    val keyed = rows.as[Ev](emitted).groupByKey((event: Ev) => of(event.id))(kind.encoder)
    if (chosen.op == "mg") {
      val call = (key: K, events: Iterator[Ev], state: GroupState[Kept]) => actor(key, events, state).next()
      keyed.mapGroupsWithState[Kept, Ev](timeout)(call)(state, emitted).toDF()
    } else {
      val call = (key: K, events: Iterator[Ev], state: GroupState[Kept]) => actor(key, events, state)
      chosen.get("initial").map(_.toInt) match {
        case None => keyed.flatMapGroupsWithState[Kept, Ev](output, timeout)(call)(state, emitted).toDF()
        case Some(most) =>
          val pairs = Encoders.tuple(kind.encoder, state)
          val kept = rows.sparkSession.createDataset((0 until most).map(of).distinct.map(_ -> Kept(1, "t9")))(pairs)
          val initial = kept.groupByKey((pair: (K, Kept)) => pair._1)(kind.encoder)
            .mapValues((pair: (K, Kept)) => pair._2)(state)
          keyed.flatMapGroupsWithState[Kept, Ev](output, timeout, initial)(call)(state, emitted).toDF()
      }
    }
  }
}

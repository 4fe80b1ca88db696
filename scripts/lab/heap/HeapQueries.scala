package org.apache.spark.sql.execution.streaming.state

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.{classic, Column, DataFrame, Dataset}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode, StreamingQuery}

case class Visit(id: Long, step: Long, payload: String)
case class Visits(count: Long, lastPayload: String)

/** One query to run: what it is, how many keys, how wide its rows, how many versions stay in memory. */
case class HeapCase(name: String, query: String, keys: Int, payload: Int, retained: Int, rowChecksum: Boolean)

/**
 * Runs queries on this JVM and writes for each, as JSON, what its state stores had on the heap.
 *
 * Arguments: a folder, then one case each as `name,query,keys,payload,retained,rowChecksum`. The folder gets
 * `NAME/checkpoint` and `NAME/heap.json`.
 */
object HeapQueries {
  def main(args: Array[String]): Unit = {
    val spark = classic.SparkSession.builder().getOrCreate()
    for (arg <- args.tail) {
      val Array(name, query, keys, payload, retained, checksum) = arg.split(",")
      val spec = HeapCase(name, query, keys.toInt, payload.toInt, retained.toInt, checksum.toBoolean)
      new HeapQuery(spark, spec, s"${args.head}/$name").run()
    }
  }
}

/** The steps of every query: all keys first, then a tenth of them again and a fiftieth more in every step. */
object Steps {
  val Count = 6
  val Base = 1700000000L
  val Delay = 5000L

  def ids(step: Int, keys: Int): Seq[Long] =
    if (step == 0) (0L until keys.toLong)
    else (step.toLong until keys by 10) ++ (0 until keys / 50).map(i => keys.toLong + step * (keys / 50) + i)

  /** The input of a step: `step * 10^9 + id`; id 999999999 carries the watermark on. */
  def input(step: Int, keys: Int): Seq[Long] = (ids(step, keys) :+ 999999999L).map(step * 1000000000L + _)
}

class HeapQuery(spark: classic.SparkSession, spec: HeapCase, folder: String) {
  import spark.implicits._

  def run(): Unit = {
    StateStore.stop() // no provider of the case before is left
    Working.seen = None
    spark.conf.set("spark.sql.streaming.maxBatchesToRetainInMemory", spec.retained.toString)
    spark.conf.set("spark.sql.streaming.stateStore.rowChecksum.enabled", spec.rowChecksum.toString)
    spark.conf.set("spark.sql.shuffle.partitions", if (spec.query == "working") "1" else "2")
    spark.conf.set("spark.sql.streaming.stateStore.compression.codec",
      if (spec.query == "working") classOf[LZ4CompressionCodec].getName else "lz4")
    val reported = runSteps()
    LiveHeap.settle()
    val loaded = LiveHeap.histogram()
    val providers = LiveHeap.providers()
    require(providers.nonEmpty, "no state store is loaded any more")
    providers.foreach(_.close()) // lets go of the maps and of nothing else
    val unloaded = LiveHeap.histogram()
    val seen = if (spec.query == "working") Working.seen.get else loaded
    Files.writeString(Paths.get(folder, "heap.json"), json(LiveHeap.freed(seen, unloaded), reported))
    println(s"### ${spec.name}")
  }

  /** Runs the query to its end; nothing of it is reachable afterwards. Returns what Spark says of its memory. */
  private def runSteps(): Map[String, Long] = {
    val input = MemoryStream[Long](spark)
    val query = start(spec.query match {
      case "join" => joined(input.toDF())
      case "aggregation" | "working" => aggregated(events(input.toDF()))
      case "session" => sessions(events(input.toDF()))
      case "dedup" => events(input.toDF()).dropDuplicates("id", "ts", "payload")
      case "groupstate" => groupState(events(input.toDF()))
    })
    try {
      for (step <- 0 until Steps.Count) {
        Working.armed = spec.query == "working" && step == Steps.Count - 1
        input.addData(Steps.input(step, spec.keys))
        query.processAllAvailable()
      }
      val operator = query.lastProgress.stateOperators.head
      require(query.lastProgress.batchId == Steps.Count - 1, s"${query.lastProgress.batchId} batches")
      Map("memoryUsedBytes" -> operator.memoryUsedBytes, "numRowsTotal" -> operator.numRowsTotal,
        "stateOnCurrentVersionSizeBytes" -> operator.customMetrics.get("stateOnCurrentVersionSizeBytes"))
    } finally query.stop()
  }

  private def start(df: DataFrame): StreamingQuery =
    df.writeStream.format("noop").option("checkpointLocation", s"$folder/checkpoint")
      .outputMode(if (Set("aggregation", "working", "groupstate")(spec.query)) "update" else "append").start()

  /**
   * Event time is a function of the key, so that a key comes again as itself. Every twentieth key lies early
   * and falls to the watermark, a fifth of those in each step; the watermark goes on by 300 s a step.
   */
  private def events(input: DataFrame): DataFrame =
    input.select($"value" % 1000000000L as "id", expr("value div 1000000000") as "step")
      .withColumn("ts", timestamp_seconds(lit(Steps.Base) +
        when($"id" === 999999999L, lit(Steps.Delay) + $"step" * 300)
          .when($"id" % 20 === 0, expr("((id div 20) % 5) * 300 + 100"))
          .otherwise(lit(Steps.Delay)) + shift))
      .withColumn("payload", if (spec.payload == 0) lit("") else rpad($"id".cast("string"), spec.payload, "abcdefgh"))
      .withWatermark("ts", s"${Steps.Delay} seconds")

  /** Who comes again makes a session longer, or begin earlier (another key), or begins a second one. */
  private def shift: Column =
    if (spec.query != "session") lit(0)
    else when($"step" === 0 || $"id" === 999999999L, 0)
      .otherwise(expr("element_at(array(20, -20, 500), cast(id div 10 % 3 + 1 as int))"))

  private def aggregated(events: DataFrame): DataFrame = {
    val counts = Seq(count(lit(1)) as "n", sum($"step") as "steps")
    val all = if (spec.payload == 0) counts else counts :+ (max($"payload") as "payload")
    events.groupBy($"id", $"ts").agg(all.head, all.tail: _*)
  }

  private def sessions(events: DataFrame): DataFrame = {
    val n = count(lit(1)) as "n"
    val grouped = events.groupBy(session_window($"ts", "50 seconds"), $"id")
    if (spec.payload == 0) grouped.agg(n) else grouped.agg(n, max($"payload") as "payload")
  }

  private def joined(input: DataFrame): DataFrame =
    events(input).join(events(input).select($"id" as "rid", $"ts" as "rts", $"step" as "rstep"),
      $"id" === $"rid" && $"ts" === $"rts")

  /** A fourth of the keys that come again are removed. */
  private def groupState(events: DataFrame): DataFrame = {
    val update = (id: Long, visits: Iterator[Visit], state: GroupState[Visits]) => {
      val seen = visits.toSeq
      if (state.exists && id / 10 % 4 == 0) state.remove()
      else state.update(Visits(state.getOption.map(_.count).getOrElse(0L) + seen.size, seen.last.payload))
      Iterator.empty[Long]
    }
    val visits: Dataset[Visit] = events.select("id", "step", "payload").as[Visit]
    visits.groupByKey(_.id).flatMapGroupsWithState(OutputMode.Update, GroupStateTimeout.NoTimeout)(update).toDF()
  }

  private def json(uses: LiveHeap.Histogram, reported: Map[String, Long]): String = {
    val classes = uses.toSeq.sortBy(-_._2.bytes).map { case (name, use) =>
      s""""$name": [${use.objects}, ${use.bytes}]"""
    }
    val values = reported.toSeq.map { case (name, value) => s""""$name": $value""" }
    s"""{"java": "${System.getProperty("java.version")}", "spark": "${spark.version}",
       | ${values.mkString(", ")},
       | "classes": {${classes.mkString(",\n  ")}}}
       |""".stripMargin
  }
}

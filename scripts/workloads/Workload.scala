package org.apache.spark.sql.execution.streaming.state

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths, StandardOpenOption}

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.streaming.StreamingQuery

/** One workload: run after run of its query until all ticks are over, then what Spark says its state holds. */
class Workload(spark: ThisSpark.Session, root: String, line: String) {
  private val chosen = Chosen(line)
  private val dir = Paths.get(root, chosen.name)
  private val checkpoint = dir.resolve("checkpoint").toString
  private val sources = Seq.fill(2)(ThisSpark.stream[Ev](spark)(Encoders.product[Ev]))
  private val feed = new Feed(chosen)
  private val random = new Random(chosen.seed + 99)
  private val ticks = chosen.int("ticks", 14)
  private val batches = mutable.TreeMap[Long, String]()
  private val before = mutable.Map[String, Option[String]]()
  private var providers = Map[StateStoreId, HDFSBackedStateStoreProvider]()
  private var now = feed.start
  private var tick = 0
  private var number = 0

  private val calls = dir.resolve("calls")
  Files.createDirectories(calls)
  write("spec.txt", line + "\n")
  Conf.of(chosen).foreach { case (key, value) =>
    before(key) = spark.conf.getOption(key)
    spark.conf.set(key, value)
  }

  // For Python
  def hasNext: Boolean = tick < ticks
  def run: Int = number
  def timeout: String = chosen.timeout(number)
  def callLog: String = calls.toString
  def failInBatch: Long = if (number == 0 && chosen.text("failHow", "") == "function") chosen.long("failAt", -1) else -1
  def input: DataFrame = {
    val rows = queries.below(if (chosen.op == "pd") "none" else chosen.op.drop(3))
    rows.withColumn("s", udf(Keys.string _).apply(col("id"))).withColumn("l", udf(Keys.long _).apply(col("id")))
  }

  private def queries = new Queries(chosen, sources(0).toDF(), sources(1).toDF())

  def query(): DataFrame = queries.query(role)

  private def role(op: Int): Role = Role(number, op, chosen.get(s"timeout$op").getOrElse(timeout),
    chosen.get(s"profile$op").getOrElse(chosen.text("profile", "healthy")),
    chosen.seed, chosen.long("patience", 3), chosen.get("fixed").map(_.toLong), chosen.tick, failInBatch, callLog)

  /** One run of the query: to the next restart, to the end, or until it fails. */
  def drive(df: DataFrame): Unit = {
    StateStore.stop() // no provider of an earlier run is left
    val failing = number == 0 && chosen.text("failHow", "") == "sink"
    val spec = CaseSpec(chosen.name, chosen.text("mode", "append"), triggerMs = 1,
      failInBatch = if (failing) chosen.long("failAt", -1) else -1)
    val clock = new StepClock(now)
    feedSources()
    val query = ThisSpark.start(spark, spec, checkpoint, clock, df)
    try {
      step(query, clock)
      while (hasNext && query.isActive && !chosen.restarts(tick)) {
        feedSources()
        clock.advance(feed.advance())
        step(query, clock)
      }
    } finally query.stop()
    query.exception.foreach { e => if (failInBatch < 0 && !failing) throw e }
    now = clock.getTimeMillis() + feed.advance() - chosen.long("back", 0)
    number += 1
  }

  private def feedSources(): Unit = {
    val (first, second) = feed.next(tick)
    if (first.nonEmpty) sources(0).addData(first)
    if (second.nonEmpty) sources(1).addData(second)
    tick += 1
  }

  private def step(query: StreamingQuery, clock: StepClock): Unit = {
    val deadline = System.nanoTime + 60L * 1000 * 1000 * 1000
    while (query.isActive && !clock.isWaitedFor) {
      require(System.nanoTime < deadline, "the query did not finish its tick in a minute")
      Thread.sleep(2)
    }
    if (query.isActive) {
      val last = Executed.last(query)
      last.foreach(batch => batches(batch.id) = batch.json(number, new File(checkpoint, s"offsets/${batch.id}")))
      providers = ThisSpark.loadedProviders(checkpoint)
        .collect { case (id, p: HDFSBackedStateStoreProvider) => id -> p }
      if (random.nextDouble() < chosen.real("maint", 0)) providers.values.foreach(_.doMaintenance())
    }
  }

  /** Writes what is known of all batches and the rows of the newest version; `problem` is empty if all went well. */
  def finish(problem: String): Unit = try {
    write("spec.txt", s"$line\n# ${if (problem.isEmpty) "ok" else problem}\n")
    write("batches.jsonl", batches.values.mkString("", "\n", "\n"))
    val logs = calls.toFile.listFiles.sortBy(_.getName)
    write("calls.jsonl", "")
    val all = dir.resolve("calls.jsonl")
    logs.foreach(log => Files.write(all, Files.readAllBytes(log.toPath), StandardOpenOption.APPEND))
    if (!chosen.op.startsWith("pd")) { logs.foreach(_.delete()); calls.toFile.delete() }
    if (problem.isEmpty) {
      val newest = Recorder.newestBatch(checkpoint, "commits") + 1
      write("store.jsonl", rows(newest).sorted.mkString("", "\n", "\n"))
    }
  } finally {
    StateStore.stop()
    before.foreach {
      case (key, Some(value)) => spark.conf.set(key, value)
      case (key, None) => spark.conf.unset(key)
    }
  }

  private def rows(version: Long): Seq[String] = providers.toSeq.flatMap { case (id, provider) =>
    val value = ThisSpark.hidden[org.apache.spark.sql.types.StructType](provider, "valueSchema")
    val timed = value.lastOption.exists(_.name == "timeoutTimestamp")
    ThisSpark.hidden[java.util.TreeMap[_, _]](provider, "loadedMaps").clear()
    val store = provider.getStore(version)
    try store.iterator().map { pair =>
      val timer = if (timed) pair.value.getLong(value.size - 1) else -9L
      s"""{"op":${id.operatorId},"store":"${id.storeName}","p":${id.partitionId},"k":"${Json.hex(pair.key)}",""" +
        s""""t":$timer,"null0":${pair.value.isNullAt(0)}}"""
    }.toSeq finally store.abort()
  }

  private def write(name: String, text: String): Path = Files.write(dir.resolve(name), text.getBytes(UTF_8))
}

/** The settings of a workload. */
object Conf {
  private val Streaming = "spark.sql.streaming"
  private val Keys = Map(
    "parts" -> "spark.sql.shuffle.partitions",
    "codec" -> s"$Streaming.stateStore.compression.codec",
    "nodata" -> s"$Streaming.noDataMicroBatches.enabled",
    "minDeltas" -> s"$Streaming.stateStore.minDeltasForSnapshot",
    "retain" -> s"$Streaming.minBatchesToRetain",
    "fmt" -> s"$Streaming.flatMapGroupsWithState.stateFormatVersion",
    "aggFmt" -> s"$Streaming.aggregation.stateFormatVersion",
    "joinFmt" -> s"$Streaming.join.stateFormatVersion",
    "check" -> s"$Streaming.statefulOperator.checkCorrectness.enabled",
    "policy" -> s"$Streaming.multipleWatermarkPolicy",
    "rowsum" -> s"$Streaming.stateStore.rowChecksum.enabled",
    "cleanup" -> s"$Streaming.statefulOperator.incrementalCleanupFactor")

  def of(chosen: Chosen): Map[String, String] = {
    val given = Keys.flatMap { case (word, key) => chosen.get(word).map(key -> _) }
    // Spark refuses to read back a timer of format 1: a long that it declares an integer.
    val unchecked = s"$Streaming.stateStore.formatValidation.enabled" -> "false"
    if (chosen.get("fmt").contains("1")) given + unchecked else given
  }
}

/** The programs of Scala workloads: `spark-submit ... Workloads OUT FILE`, one workload a line of the file. */
object Workloads {
  def main(args: Array[String]): Unit = {
    val spark = ThisSpark.session()
    spark.sparkContext.setLogLevel("OFF")
    val lines = Files.readAllLines(Paths.get(args(1))).toArray(Array[String]()).toSeq
    lines.foreach(line => one(spark, args(0), line))
    spark.stop()
  }

  private def one(spark: ThisSpark.Session, root: String, line: String): Unit = {
    val workload = new Workload(spark, root, line)
    var problem = ""
    try while (workload.hasNext) workload.drive(workload.query())
    catch { case e: Exception => problem = s"$e ${Option(e.getCause).getOrElse("")}".replace('\n', ' ').take(2000) }
    workload.finish(problem)
    println(s"### $line # ${if (problem.isEmpty) "ok" else problem}")
  }
}
